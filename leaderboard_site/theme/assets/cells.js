// The cells of a board as the script redraws them: what pages/columns.py serves, from the data.
"use strict";
(function () {
  const { cell: number, day, make, breakable, DASH, home, group } = window.speedrun;
  // `board` has root, track, data, state, value, name and folder; it is asked when a cell is drawn.
  window.speedrun.cells = function (board) {
    const small = (words) => make("small", { class: "ci" }, words);
    function placeCell(i) {
      const pareto = board.root.dataset.objective === "pareto";
      const front = board.data.flag[i] === "f" && pareto;
      const tied = board.data.flag[i] === "t";
      const worse = board.data.place[i] - 1;
      const words = front
        ? "On the frontier: nothing is better on one axis and no worse on the other"
        : pareto
          ? `${group(worse)} ${worse === 1 ? "entry is" : "entries are"} at least as good on both axes`
          : tied
            ? "Shares this place: the same score"
            : "";
      const mark = front ? "◆" : board.data.place[i] + (tied ? "=" : "");
      const chance = pareto && board.data.chance ? board.data.chance[i] : null;
      const doubtful = front && chance !== null && chance < 50;
      const kind = (front ? "place front" : "place") + (doubtful ? " doubtful" : "");
      const out = [make("span", { class: kind, title: words }, mark)];
      const likely = "How likely it truly is on the frontier";
      if (chance !== null) out.push(make("small", { class: "ci", title: likely }, `${chance} %`));
      const ranks = board.data.ranks && board.data.ranks[i];
      if (ranks) out.push(small(ranks.join(DASH)));
      return out;
    }
    function nameCell(i) {
      const id = `${board.track}/${board.data.slug[i]}`;
      const box = make("input", {
        type: "checkbox",
        class: "pick",
        value: id,
        checked: board.state.pick.includes(id),
      });
      box.setAttribute("aria-label", "Compare " + board.name(i));
      const out = [box, make("a", { href: `${home}entries/${id}/` }, ...breakable(board.name(i)))];
      const title = board.data.title && board.data.title[i];
      if (title && title[1] !== board.folder(i))
        out.push(make("small", { class: "folder" }, ...breakable(board.folder(i))));
      return out;
    }
    function best(key) {
      if (!bests.has(key)) {
        const goals = { [board.data.quality]: board.data.goals[0], [board.data.cost]: board.data.goals[1] };
        const better = goals[key] === "max" ? (a, b) => b > a : (a, b) => b < a;
        const all = board.data.q
          .map((_, i) => board.value(key, i))
          .filter((v) => typeof v === "number" && v > 0);
        bests.set(key, all.reduce((a, b) => (better(a, b) ? b : a), all[0]));
      }
      return bests.get(key);
    }
    const bests = new Map();
    function shownNumber(key, i) {
      const format = board.data.formats[key];
      const v = board.value(key, i);
      if (board.state.rel && v !== null && v !== undefined) {
        const least = best(key);
        return least ? number([1, 3, 0], v / least) + " ×" : DASH;
      }
      return number(format, v);
    }
    function cell(key, i) {
      switch (key) {
        case "place":
          return placeCell(i);
        case "name":
          return nameCell(i);
        case "who":
          return [board.value("who", i)];
        case "date":
          return [day(board.data.day[i] === null ? null : board.data.day0 + board.data.day[i])];
        case "evidence": {
          const w = board.value("evidence", i);
          return [make("span", { class: "grade " + w }, w)];
        }
        case "status": {
          const w = board.value("status", i);
          const out = [make("span", { class: "status " + w }, board.data.names[w])];
          const why = board.data.why ? board.data.words.why[board.data.why[i]] : "";
          if (why) out.push(" ", make("small", { class: "why" }, why));
          return out;
        }
        case "p":
          return [number(board.data.formats.p, board.data.p[i])];
        case "device":
          return [board.value("device", i) || DASH];
      }
      const out = [shownNumber(key, i)];
      if (key === "ratio" && board.data.span[i] && !board.state.rel)
        out.push(small(board.data.span[i].map((v) => number(board.data.formats.ratio, v)).join(DASH)));
      if (key === board.data.quality && board.data.n && board.data.n[i]) {
        const half = board.data.h[i] === null ? "" : `± ${number(board.data.formats[key], board.data.h[i])} · `;
        out.push(small(`${half}n = ${board.data.n[i]}`));
      }
      if (key === board.data.cost && board.data.own && board.data.own[i] !== null)
        out.push(small(`own runs ${number(board.data.formats[key], board.data.own[i])}`));
      return out;
    }
    return cell;
  };
})();
