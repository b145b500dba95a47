import type { Palette } from '../../shared/theme/palette.js';
import type { Point } from './geometry.js';

const FONT = 'Inter, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
/** Smaller text cannot be read. */
const LEAST_PX = 11;
/** Between a name and a figure. */
const GAP = 6;

/** The smallest scale at which NFs, boards and nodes have their names. */
export const READABLE_SCALE = 0.45;

/**
 * Size of a text in a scene that is drawn at this scale: its own, or as much larger as it must be to be read. Null: that is
 * more than the height of its row.
 */
export function readableSize(size: number, row: number, scale: number): number | null {
  const needed = Math.max(size, Math.ceil((10 * LEAST_PX) / scale) / 10);
  return needed <= row ? needed : null;
}

export function setFont(context: CanvasRenderingContext2D, size: number, weight = 400): void {
  context.font = `${weight} ${size}px ${FONT}`;
}

const cuts = new Map<string, string>();

/** The text truncated to a width, in front of its `tail`, by which it differs from others; cached. */
export function fitted(context: CanvasRenderingContext2D, text: string, width: number, tail = ''): string {
  const key = `${context.font}|${Math.round(width)}|${tail}|${text}`;
  const known = cuts.get(key);
  if (known !== undefined) return known;
  let shown = text;
  for (let head = text.length - tail.length - 1; head >= 0 && context.measureText(shown).width > width; head--)
    shown = `${text.slice(0, head)}…${tail}`;
  if (cuts.size > 5000) cuts.clear();
  cuts.set(key, shown);
  return shown;
}

/** A name truncated to a width; empty where half of it or more would be cut off, which would not tell it from others. */
export function fittedName(context: CanvasRenderingContext2D, name: string, width: number): string {
  const shown = fitted(context, name, width);
  return shown === name || 2 * (shown.length - 1) > name.length ? shown : '';
}

/** A text that is left out where there is no room for all of it. */
export function drawWhole(
  context: CanvasRenderingContext2D,
  text: string,
  at: Point,
  room: { readonly width: number; readonly height: number },
  scale: number,
): void {
  const size = readableSize(11, room.height, scale);
  if (size === null) return;
  setFont(context, size);
  if (context.measureText(text).width <= room.width) context.fillText(text, at.x, at.y);
}

/** What tells instances of an NF, and hosts, from each other: `-0` of `sfw.container-0`. */
function tailOf(name: string): string {
  return /[.-]\d+$/.exec(name)?.[0] ?? '';
}

interface Row {
  /** Ends of the row, and its middle. */
  readonly left: number;
  readonly right: number;
  readonly y: number;
  readonly height: number;
  readonly name: string;
  readonly size: number;
  readonly weight: number;
  readonly figure: string;
  readonly stale: boolean;
  /** Kept free for the figure where text has its own size. */
  readonly figureWidth: number;
}

/** A name and a figure at the right. The figure gives way where enlarged text leaves no room for both. */
export function drawRow(context: CanvasRenderingContext2D, row: Row, scale: number, palette: Palette): void {
  const { left, right, y, name } = row;
  const size = readableSize(row.size, row.height, scale);
  if (size === null) return;
  const figureSize = Math.max(12, readableSize(12, row.height, scale) ?? size);
  const all = right - left;
  const beside = all - (row.figureWidth * figureSize) / 12;
  context.textAlign = 'left';
  context.fillStyle = palette.text;
  setFont(context, size, row.weight);
  const isAlone = size > row.size && context.measureText(name).width > beside;
  const shown = fitted(context, name, isAlone ? all : beside, tailOf(name));
  context.fillText(shown, left, y);
  if (isAlone) return;
  const free = all - context.measureText(shown).width - GAP;
  setFont(context, figureSize);
  drawFigure(context, fitted(context, row.figure, free), { x: right, y }, row.stale, palette);
}

/** A right-aligned figure in the font that is set; struck through if it is stale. */
function drawFigure(
  context: CanvasRenderingContext2D,
  text: string,
  at: Point,
  stale: boolean,
  palette: Palette,
): void {
  context.textAlign = 'right';
  context.fillStyle = stale ? palette.stale : palette['text-muted'];
  context.fillText(text, at.x, at.y);
  if (!stale) return;
  const width = context.measureText(text).width;
  context.fillRect(at.x - width, at.y - 0.5, width, 1);
}
