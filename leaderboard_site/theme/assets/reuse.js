// What stands under a chart: the picture as PNG; and copying of what a page offers to copy.
"use strict";
(function () {
  const SCALE = 2;
  async function png(row) {
    const link = row.querySelector("[data-svg]");
    const answer = await fetch(link.href);
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    const text = await answer.text();
    const box = text.match(/viewBox="0 0 (\d+) (\d+)"/);
    const [width, height] = [Number(box[1]) * SCALE, Number(box[2]) * SCALE];
    const sized = text.replace("<svg ", `<svg width="${width}" height="${height}" `);
    const image = new Image();
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(sized);
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    const pen = canvas.getContext("2d");
    pen.fillStyle = "#fff";
    pen.fillRect(0, 0, width, height);
    pen.drawImage(image, 0, 0);
    const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
    const save = document.createElement("a");
    save.href = URL.createObjectURL(blob);
    save.download = link.download.replace(/svg$/, "png");
    save.click();
    URL.revokeObjectURL(save.href);
  }
  for (const row of document.querySelectorAll(".reuse")) {
    const button = row.querySelector(".png");
    if (!button) continue;
    button.parentNode.hidden = false;
    button.addEventListener("click", () =>
      png(row).catch((error) => (button.textContent = `PNG: ${error.message}`)),
    );
  }
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const from = document.getElementById(button.dataset.copy);
      try {
        await navigator.clipboard.writeText(from.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(from);
        button.textContent = "Selected: copy it now";
      }
    });
  }
})();
