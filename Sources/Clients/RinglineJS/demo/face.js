// The face of a user, for calls without a picture.

const SVG = "http://www.w3.org/2000/svg";
const SHAPES = [
  ["circle", { cx: 50, cy: 50, r: 50, fill: "own" }],
  ["path", { d: "M10 100 Q50 62 90 100 Z", fill: "rgb(255 255 255 / 85%)" }],
  ["circle", { cx: 50, cy: 47, r: 27, fill: "#f3cfae" }],
  ["path", { d: "M22 45 Q24 14 50 16 Q76 14 78 45 Q66 30 50 32 Q34 30 22 45 Z", fill: "#2a2320" }],
  ["circle", { cx: 40, cy: 47, r: 3, fill: "#2a2320" }],
  ["circle", { cx: 60, cy: 47, r: 3, fill: "#2a2320" }],
  ["path", { class: "mouth", d: "M40 58 Q50 68 60 58 Z", fill: "#a23b3b" }],
];

/** Returns the drawing of a face before a ground of this colour. */
export function face(colour) {
  const drawing = document.createElementNS(SVG, "svg");
  drawing.setAttribute("viewBox", "0 0 100 100");
  for (const [name, attributes] of SHAPES) {
    const shape = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) shape.setAttribute(key, value === "own" ? colour : value);
    drawing.append(shape);
  }
  return drawing;
}
