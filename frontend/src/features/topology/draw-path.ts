import { type Frame, is } from './frame.js';
import { type Box, curve, facingSide, type Point, placeOnSide } from './geometry.js';
import { JOINT_PATH, type Joint, jointBox } from './joints.js';
import type { Overlay, OverlayEdge } from './overlay.js';
import { trace } from './shapes.js';

export function boxOf(frame: Pick<Frame, 'scene' | 'places' | 'overlay'>, end: OverlayEdge['from']): Box | null {
  if ('node' in end) {
    const node = frame.scene.nodes.get(end.node);
    const at = frame.places.get(end.node);
    return node && at ? { ...at, w: node.w, h: node.h } : null;
  }
  if ('joint' in end) {
    const joint = frame.overlay?.joints.get(end.joint);
    const node = joint && frame.scene.nodes.get(joint.server);
    const at = joint && frame.places.get(joint.server);
    return node && at ? jointBox(node, at, joint.index) : null;
  }
  const server = frame.scene.serverOfInstance.get(end.chip);
  const node = server === undefined ? undefined : frame.scene.nodes.get(server);
  const at = server === undefined ? undefined : frame.places.get(server);
  const chip = node?.chips.find(({ id }) => id === end.chip);
  return chip && at ? { x: at.x + chip.x, y: at.y + chip.y, w: chip.w, h: chip.h } : null;
}

/** Line of an edge of the chain; inside a server it goes around the chips' right side. */
function overlayLine(frame: Frame, edge: OverlayEdge): Point[] | null {
  const from = boxOf(frame, edge.from);
  const to = boxOf(frame, edge.to);
  if (!from || !to) return null;
  if (!edge.cut) return curve(placeOnSide(from, 'right', 1, 3), 'right', placeOnSide(to, 'right', 1, 3), 'right');
  // A chip is entered and left at its sides: above and below are other chips.
  const sideOf = (end: OverlayEdge['from'], box: Box, other: Box) =>
    !('node' in end) ? (other.x < box.x ? 'left' : 'right') : facingSide(box, other);
  const fromSide = sideOf(edge.from, from, to);
  const toSide = sideOf(edge.to, to, from);
  return curve(placeOnSide(from, fromSide, 0, 1), fromSide, placeOnSide(to, toSide, 0, 1), toSide);
}

function arrow(context: CanvasRenderingContext2D, line: readonly Point[], size: number): void {
  const tip = line.at(-1)!;
  const back = line.at(-3) ?? line[0]!;
  const angle = Math.atan2(tip.y - back.y, tip.x - back.x);
  context.beginPath();
  context.moveTo(tip.x, tip.y);
  context.lineTo(tip.x - size * Math.cos(angle - 0.42), tip.y - size * Math.sin(angle - 0.42));
  context.lineTo(tip.x - size * Math.cos(angle + 0.42), tip.y - size * Math.sin(angle + 0.42));
  context.closePath();
  context.fill();
}

export function drawOverlay(context: CanvasRenderingContext2D, frame: Frame, overlay: Overlay): void {
  const { palette } = frame;
  context.globalAlpha = 1;
  context.lineCap = 'round';
  for (const edge of overlay.edges) {
    const line = overlayLine(frame, edge);
    if (!line) continue;
    const width = 1.5 + 2.5 * Math.sqrt(Math.min(1, edge.rate_bps / frame.scene.maxBandwidth_bps));
    context.strokeStyle = palette.accent;
    context.fillStyle = palette.accent;
    context.lineWidth = width;
    context.setLineDash(edge.cut ? [2, 5] : []);
    trace(context, line);
    context.stroke();
    context.setLineDash([]);
    arrow(context, line, 8 + width);
  }
  for (const joint of overlay.joints.values()) drawJoint(context, frame, joint);
}

function drawJoint(context: CanvasRenderingContext2D, frame: Frame, { id, kind }: Joint): void {
  const box = boxOf(frame, { joint: id });
  if (!box) return;
  const shape = new Path2D();
  shape.addPath(new Path2D(JOINT_PATH[kind]), new DOMMatrix([1, 0, 0, 1, box.x, box.y]));
  const chosen = is(frame.selected, 'joint', id);
  context.fillStyle = chosen ? frame.palette.accent : frame.palette.surface;
  context.strokeStyle = is(frame.hover, 'joint', id) ? frame.palette.text : frame.palette.accent;
  context.lineWidth = 1.5;
  context.fill(shape);
  context.stroke(shape);
}
