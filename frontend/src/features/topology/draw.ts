import { sampleKey } from '@orrery/contract/sample-keys';
import { interpolateLab } from 'd3-interpolate';
import { quantityText } from '../../shared/format/quantity.js';
import type { Palette } from '../../shared/theme/palette.js';
import { BOARD_HEADER_H, type BoardBox, slotWords } from './boards.js';
import { type Box, curve, facingSide, offsetLine, type Point, placeOnSide } from './geometry.js';
import { JOINT_PATH, type Joint, jointBox } from './joints.js';
import { drawRow, drawWhole, fitted, fittedName, readableSize, setFont } from './labels.js';
import { CHIP_H, CORE_LABEL_W, HEADER_H, rateKey, type Scene, type SceneNode, SWITCH_H } from './model.js';
import type { Overlay, OverlayEdge } from './overlay.js';
import { drawTroubleMark } from './trouble-mark.js';
import type { Trouble, Troubles } from './troubles.js';

export type Target =
  | { readonly kind: 'node'; readonly id: string }
  | { readonly kind: 'link'; readonly id: string }
  | { readonly kind: 'nf'; readonly id: string }
  | { readonly kind: 'board'; readonly id: string }
  | { readonly kind: 'joint'; readonly id: string };

/** Measurements, read on each frame. */
export interface LiveView {
  /** Bits per second in each direction; null if unknown. */
  link(id: string): { up: boolean; a_to_b_bps: number; b_to_a_bps: number; stale: boolean } | null;
  value(key: string): { value: number; stale: boolean } | null;
  /** State of a server's agent, as on the wire. */
  agent(server: string): string | null;
  /** Whether state updates arrive; if not, all states are stale. */
  connected(): boolean;
}

export interface Frame {
  readonly scene: Scene;
  readonly places: ReadonlyMap<string, Point>;
  readonly lines: ReadonlyMap<string, readonly Point[]>;
  readonly troubles: Troubles;
  readonly overlay: Overlay | null;
  readonly chainColor: (chainId: string) => string;
  readonly hover: Target | null;
  readonly selected: Target | null;
  readonly palette: Palette;
  readonly live: LiveView;
  readonly transform: { readonly k: number; readonly x: number; readonly y: number };
  readonly width: number;
  readonly height: number;
}

const DIM = 0.28;
/** From the middle of a link to the line of each direction. */
const LANE = 4;
/** Of `slot 1` in a board. */
const SLOT_LABEL_W = 44;
const ramps = new Map<string, string[]>();

/** Colour of a utilization from 0 to 1, clamped. */
export function utilizationColor(share: number, palette: Palette): string {
  const key = palette['util-0'] + palette['util-3'];
  let ramp = ramps.get(key);
  if (!ramp) {
    const stops = [palette['util-0'], palette['util-1'], palette['util-2'], palette['util-3']];
    const at = [0, 0.35, 0.75, 1];
    ramp = Array.from({ length: 65 }, (_, index) => {
      const t = index / 64;
      const right = Math.max(
        1,
        at.findIndex((stop) => stop >= t),
      );
      const [lo, hi] = [at[right - 1]!, at[right]!];
      return interpolateLab(stops[right - 1]!, stops[right]!)((t - lo) / (hi - lo));
    });
    ramps.set(key, ramp);
  }
  return ramp[Math.round(Math.max(0, Math.min(1, share)) * 64)]!;
}

/** Width of a line that carries a rate; the exponent keeps small rates visible beside large ones. */
export function rateWidth(rate_bps: number, max_bps: number): number {
  return 1.25 + 6.5 * Math.max(0, Math.min(1, rate_bps / max_bps)) ** 0.4;
}

function trace(context: CanvasRenderingContext2D, line: readonly Point[]): void {
  context.beginPath();
  for (const [index, { x, y }] of line.entries()) {
    if (index === 0) context.moveTo(x, y);
    else context.lineTo(x, y);
  }
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

function roundRect(context: CanvasRenderingContext2D, { x, y, w, h }: Box, radius: number): void {
  context.beginPath();
  context.roundRect(x - w / 2, y - h / 2, w, h, radius);
}

const is = (target: Target | null, kind: Target['kind'], id: string) => target?.kind === kind && target.id === id;

const STATE_COLOR: Record<string, keyof Palette> = {
  running: 'healthy',
  degraded: 'degraded',
  connected: 'healthy',
  failed: 'failed',
  disconnected: 'failed',
  starting: 'accent',
  stopping: 'accent',
  operating: 'healthy',
  absent: 'failed',
  active: 'healthy',
  faulty: 'failed',
  quiescing: 'accent',
  loading: 'accent',
  configuring: 'accent',
};
function stateColor(state: string, { live, palette }: Frame): string {
  return palette[live.connected() ? (STATE_COLOR[state] ?? 'stale') : 'stale'];
}

function drawTrouble(context: CanvasRenderingContext2D, frame: Frame, at: Point, { status }: Trouble): void {
  const { palette, live, transform } = frame;
  drawTroubleMark(context, at, transform.k, palette[live.connected() ? status : 'stale'], palette.surface);
}

function drawLink(context: CanvasRenderingContext2D, frame: Frame, id: string): void {
  const { scene, palette, overlay, live } = frame;
  const link = scene.links.get(id)!;
  const line = frame.lines.get(id)!;
  const now = live.link(id);
  context.globalAlpha = overlay && !overlay.links.has(id) ? DIM : 1;
  context.lineCap = 'round';
  context.lineJoin = 'round';
  if (is(frame.selected, 'link', id) || is(frame.hover, 'link', id)) {
    context.strokeStyle = palette.accent;
    context.globalAlpha *= is(frame.selected, 'link', id) ? 0.35 : 0.2;
    context.lineWidth = 18;
    trace(context, line);
    context.stroke();
    context.globalAlpha = overlay && !overlay.links.has(id) ? DIM : 1;
  }
  const middle = line[Math.floor(line.length / 2)]!;
  if (now && !now.up) {
    const color = now.stale ? palette.stale : palette.failed;
    context.strokeStyle = color;
    context.lineWidth = 2;
    context.setLineDash([2, 6]);
    trace(context, line);
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = palette.canvas;
    const size = readableSize(11, Number.POSITIVE_INFINITY, frame.transform.k)!;
    roundRect(context, { ...middle, w: size * 4.2, h: size * 1.6 }, size * 0.8);
    context.fill();
    context.lineWidth = 1.5;
    context.stroke();
    context.fillStyle = color;
    setFont(context, size, 600);
    context.textAlign = 'center';
    context.fillText('down', middle.x, middle.y + 0.5);
    return;
  }
  const ways: [Point[], number][] = now
    ? [
        [offsetLine(line, LANE), now.a_to_b_bps],
        [offsetLine([...line].reverse(), LANE), now.b_to_a_bps],
      ]
    : [[[...line], 0]];
  for (const [path, rate] of ways) {
    const stale = now === null || now.stale;
    context.strokeStyle = stale ? palette.stale : utilizationColor(rate / link.bandwidth_bps, palette);
    context.lineWidth = rateWidth(stale ? 0 : rate, scene.maxBandwidth_bps);
    context.setLineDash(stale ? [1, 5] : []);
    trace(context, path);
    context.stroke();
  }
  context.setLineDash([]);
  if (now && !now.stale && frame.transform.k > 0.7) {
    const rate = Math.max(now.a_to_b_bps, now.b_to_a_bps);
    if (rate < 1000) return;
    const text = quantityText('bps', rate);
    const size = readableSize(11, Number.POSITIVE_INFINITY, frame.transform.k)!;
    setFont(context, size);
    context.textAlign = 'center';
    const width = context.measureText(text).width + 10;
    context.fillStyle = palette.canvas;
    roundRect(context, { ...middle, w: width, h: size * 1.45 }, 4);
    context.fill();
    context.fillStyle = palette['text-muted'];
    context.fillText(text, middle.x, middle.y + 0.5);
  }
}

function outline(context: CanvasRenderingContext2D, frame: Frame, node: SceneNode, box: Box): void {
  const { palette } = frame;
  const chosen = is(frame.selected, 'node', node.id);
  const pointed = is(frame.hover, 'node', node.id);
  roundRect(context, box, node.kind === 'switch' ? 6 : 4);
  context.fillStyle = palette.surface;
  context.fill();
  context.lineWidth = chosen ? 2 : 1;
  context.strokeStyle = chosen ? palette.accent : pointed ? palette.text : palette['border-strong'];
  context.setLineDash(node.origin === 'twin' ? [5, 3] : []);
  context.stroke();
  context.setLineDash([]);
}

function drawServer(context: CanvasRenderingContext2D, frame: Frame, node: SceneNode, at: Point): void {
  const { palette, live } = frame;
  const box = { ...at, w: node.w, h: node.h };
  outline(context, frame, node, box);
  const left = at.x - node.w / 2;
  const top = at.y - node.h / 2;
  context.strokeStyle = palette.border;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(left + 1, top + HEADER_H);
  context.lineTo(left + node.w - 1, top + HEADER_H);
  context.stroke();
  const agent = live.agent(node.id);
  const trouble = frame.troubles.get(node.id);
  if (trouble) drawTrouble(context, frame, { x: left + 14, y: top + HEADER_H / 2 }, trouble);
  else if (agent) {
    context.beginPath();
    context.arc(left + 14, top + HEADER_H / 2, 4, 0, 2 * Math.PI);
    context.fillStyle = stateColor(agent, frame);
    context.strokeStyle = context.fillStyle;
    if (agent === 'connected' && live.connected()) context.fill();
    context.lineWidth = 1.5;
    context.stroke();
  }
  const { k } = frame.transform;
  const cpu = live.value(sampleKey('node', node.id, 'cpu'));
  const header = {
    left: left + 26,
    right: left + node.w - 10,
    y: top + HEADER_H / 2 + 0.5,
    height: HEADER_H,
    name: node.title,
    size: 13,
    weight: 600,
    figure: trouble?.word ?? (cpu ? `${quantityText('share', cpu.value)} CPU` : node.subtitle),
    stale: !trouble && (cpu?.stale ?? false),
    figureWidth: 84,
  };
  drawRow(context, header, k, palette);
  context.textAlign = 'left';
  context.fillStyle = palette['text-muted'];
  for (const row of node.rows) {
    const width = row.idle > 0 ? node.w - 20 : CORE_LABEL_W - 6;
    drawWhole(context, row.label, { x: left + 10, y: at.y + row.y + 0.5 }, { width, height: CHIP_H }, k);
  }
  drawContents(context, frame, node, at);
}

/** The boards and NFs of a server, or what a board at a switch consists of. */
function drawContents(context: CanvasRenderingContext2D, frame: Frame, node: SceneNode, at: Point): void {
  const { palette, overlay, live } = frame;
  const { k } = frame.transform;
  for (const board of node.boards) drawBoard(context, frame, board, at);
  for (const chip of node.chips) {
    const chipBox = { x: at.x + chip.x, y: at.y + chip.y, w: chip.w, h: chip.h };
    const on = !overlay || overlay.chips.has(chip.id);
    const chosen = is(frame.selected, 'nf', chip.id);
    const pointed = is(frame.hover, 'nf', chip.id);
    const before = context.globalAlpha;
    context.globalAlpha = on ? before : Math.min(before, DIM);
    roundRect(context, chipBox, 3);
    context.fillStyle = chosen ? palette.selected : palette.canvas;
    context.fill();
    context.lineWidth = chosen ? 2 : 1;
    context.strokeStyle = chosen ? palette.accent : pointed ? palette.text : palette.border;
    context.setLineDash(chip.instance.origin === 'twin' ? [4, 3] : []);
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = stateColor(chip.state, frame);
    context.beginPath();
    context.roundRect(chipBox.x - chip.w / 2, chipBox.y - chip.h / 2, 4, chip.h, [3, 0, 0, 3]);
    context.fill();
    context.fillStyle = frame.chainColor(chip.instance.chain_id);
    context.beginPath();
    context.arc(chipBox.x - chip.w / 2 + 14, chipBox.y, 3.5, 0, 2 * Math.PI);
    context.fill();
    const rate = live.value(rateKey(chip));
    const runs = chip.instance.state === 'running';
    const row = {
      left: chipBox.x - chip.w / 2 + 22,
      right: chipBox.x + chip.w / 2 - 8,
      y: chipBox.y + 0.5,
      height: CHIP_H,
      name: chip.label,
      size: 12,
      weight: 500,
      figure: runs ? quantityText('pps', rate?.value) : chip.instance.state,
      stale: runs && (rate?.stale ?? false),
      figureWidth: 68,
    };
    drawRow(context, row, k, palette);
    context.globalAlpha = before;
  }
}

/** A board in its server, or by itself: name and state, and a row for each slot; the NF in a slot is a separate chip. */
function drawBoard(context: CanvasRenderingContext2D, frame: Frame, board: BoardBox, server: Point): void {
  const { palette } = frame;
  const box = { x: server.x + board.x, y: server.y + board.y, w: board.w, h: board.h };
  const chosen = is(frame.selected, 'board', board.id);
  roundRect(context, box, 3);
  context.fillStyle = chosen ? palette.selected : palette['surface-sunken'];
  context.fill();
  context.lineWidth = chosen ? 2 : 1;
  context.strokeStyle = chosen ? palette.accent : is(frame.hover, 'board', board.id) ? palette.text : palette.border;
  if (board.emulated && !chosen) context.strokeStyle = palette['border-strong'];
  context.setLineDash(board.emulated ? [4, 3] : []);
  context.stroke();
  context.setLineDash([]);
  const left = box.x - box.w / 2;
  const middle = box.y - box.h / 2 + BOARD_HEADER_H / 2;
  const trouble = frame.troubles.get(board.id);
  if (trouble) drawTrouble(context, frame, { x: left + 10, y: middle }, trouble);
  else {
    context.fillStyle = stateColor(board.state, frame);
    context.beginPath();
    context.arc(left + 10, middle, 3, 0, 2 * Math.PI);
    context.fill();
  }
  const { k } = frame.transform;
  const header = {
    left: left + 19,
    right: left + box.w - 8,
    y: middle + 0.5,
    height: CHIP_H,
    name: board.title,
    size: 12,
    weight: 500,
    figure: trouble?.word ?? (board.state === 'operating' ? board.device : board.state),
    stale: !trouble && board.state === 'unknown',
    figureWidth: 90,
  };
  drawRow(context, header, k, palette);
  const size = readableSize(11, CHIP_H, k);
  for (const row of board.slots) {
    const y = server.y + row.y + 0.5;
    context.textAlign = 'left';
    context.fillStyle = palette['text-muted'];
    drawWhole(context, `slot ${row.slot}`, { x: left + 8, y }, { width: SLOT_LABEL_W - 4, height: CHIP_H }, k);
    if (row.instance || size === null) continue;
    context.fillStyle = row.state === 'faulty' ? palette.failed : palette['text-muted'];
    setFont(context, size);
    context.fillText(fitted(context, slotWords(row), box.w - 8 - SLOT_LABEL_W - 8), left + 8 + SLOT_LABEL_W, y);
  }
}

function drawSimple(context: CanvasRenderingContext2D, frame: Frame, node: SceneNode, at: Point): void {
  outline(context, frame, node, { ...at, w: node.w, h: node.h });
  drawContents(context, frame, node, at);
  const trouble = frame.troubles.get(node.id);
  if (trouble) drawTrouble(context, frame, { x: at.x - node.w / 2, y: at.y - node.h / 2 }, trouble);
  drawTitle(context, frame, node, node.chips.length > 0 ? { x: at.x, y: at.y - (node.h - SWITCH_H) / 2 } : at);
}

/** Title and subtitle of a host or a switch, around a point. */
function drawTitle(context: CanvasRenderingContext2D, frame: Frame, node: SceneNode, at: Point): void {
  const { palette } = frame;
  const { k } = frame.transform;
  const height = Math.min(node.h, SWITCH_H);
  const size = readableSize(13, height, k);
  if (size === null) return;
  const small = readableSize(12, height - size - 4, k);
  context.textAlign = 'center';
  context.fillStyle = palette.text;
  setFont(context, size, 600);
  const width = node.w - (size > 13 ? 8 : 16);
  context.fillText(fittedName(context, node.title, width), at.x, small === null ? at.y + 0.5 : at.y - small * 0.67);
  if (small === null) return;
  context.fillStyle = palette['text-muted'];
  setFont(context, small);
  const below = frame.troubles.get(node.id)?.word ?? node.subtitle;
  context.fillText(fitted(context, below, width), at.x, at.y + size * 0.69);
}

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
export function overlayLine(frame: Frame, edge: OverlayEdge): Point[] | null {
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

function drawOverlay(context: CanvasRenderingContext2D, frame: Frame, overlay: Overlay): void {
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

/** Draws one frame: lines, then boxes, then the path of the selected chain. */
export function drawFrame(context: CanvasRenderingContext2D, frame: Frame, ratio: number): void {
  const { transform, width, height, scene, places, overlay } = frame;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.globalAlpha = 1;
  context.clearRect(0, 0, width, height);
  context.setTransform(ratio * transform.k, 0, 0, ratio * transform.k, ratio * transform.x, ratio * transform.y);
  context.textBaseline = 'middle';
  for (const id of scene.links.keys()) drawLink(context, frame, id);
  const x0 = -transform.x / transform.k;
  const y0 = -transform.y / transform.k;
  const x1 = x0 + width / transform.k;
  const y1 = y0 + height / transform.k;
  for (const node of scene.nodes.values()) {
    const at = places.get(node.id)!;
    if (at.x + node.w / 2 < x0 || at.x - node.w / 2 > x1 || at.y + node.h / 2 < y0 || at.y - node.h / 2 > y1) continue;
    context.globalAlpha = overlay && !overlay.nodes.has(node.id) ? DIM : 1;
    if (node.kind === 'server') drawServer(context, frame, node, at);
    else if (node.kind === 'board') drawContents(context, frame, node, at);
    else drawSimple(context, frame, node, at);
  }
  if (overlay) drawOverlay(context, frame, overlay);
}
