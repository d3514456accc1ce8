// The ladder of one call. The server decides its lanes, its rows and its words; this only draws them.

/** The ladder of one call. All texts come from outside, and are inserted as texts. */
export class Ladder {
  /** The element to show. */
  element = element("div", "ladder");
  #order;
  #heads = element("div", "lanes");
  #rows = element("ol", "rows");
  #verdict = element("div", "verdict");

  /** `order` returns the columns of the lanes, if they are to stand in another order than the server's. */
  constructor(order = (lanes) => lanes.map((_, index) => index)) {
    this.#order = order;
    this.#verdict.hidden = true;
    this.#verdict.setAttribute("role", "status");
    this.element.append(this.#heads, this.#rows, this.#verdict);
  }

  /** Draws a call as the server has sent it. Rows that are there already stay. */
  show({ lanes, rows, verdict, isOver }) {
    const columns = this.#order(lanes);
    this.element.style.setProperty("--lanes", lanes.length);
    this.element.style.setProperty("--columns", 2 * lanes.length);
    const heads = lanes.map(({ name }) => element("span", "", name));
    this.#heads.replaceChildren(...lanes.map((_, index) => heads[columns.indexOf(index)]));
    for (const [index, row] of rows.entries()) {
      const drawn = this.#rows.children[index];
      const key = JSON.stringify([row, columns]);
      if (drawn?.dataset.key === key) continue;
      const made = draw(row, columns);
      made.dataset.key = key;
      if (drawn === undefined) this.#rows.append(made);
      else drawn.replaceWith(made);
    }
    while (this.#rows.children.length > rows.length) this.#rows.lastChild.remove();
    this.#verdict.replaceChildren(element("b", "", "Verdict"), ...verdict.map((text) => element("p", "", text)));
    this.#verdict.hidden = !isOver;
  }
}

/** Returns the element of a row: an arrow, a note at one lane, or a gap. */
function draw(row, columns) {
  const line = element("li", "row");
  line.append(element("time", "", row.time));
  if (row.from !== undefined) line.append(arrow(row, columns[row.from], columns[row.to]));
  else if (row.at !== undefined) line.append(note(row, columns[row.at]));
  else {
    line.classList.add("gap");
    line.append(element("span", "", row.label));
  }
  return line;
}

function arrow({ label, look, arrives }, from, to) {
  const drawn = element("div", `arrow ${to > from ? "right" : "left"} ${look} ${arrives ? "" : "lost"}`);
  drawn.append(element("span", "", label));
  drawn.style.gridColumn = `${2 * Math.min(from, to) + 2} / ${2 * Math.max(from, to) + 2}`;
  return drawn;
}

function note({ label, look }, lane) {
  const drawn = element("div", `note ${look}`);
  drawn.append(element("span", "", label));
  drawn.style.gridColumn = `${2 * lane + 1} / ${2 * lane + 3}`;
  return drawn;
}

/** Returns a new element with this class and this text. */
export function element(name, className = "", text) {
  const made = document.createElement(name);
  if (className !== "") made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}
