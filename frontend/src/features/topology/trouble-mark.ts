import type { Frame } from './frame.js';
import type { Point } from './geometry.js';
import type { Trouble } from './troubles.js';

const LEAST_PX = 6;
const MOST = 11;

export function drawTrouble(context: CanvasRenderingContext2D, frame: Frame, at: Point, { status }: Trouble): void {
  const { palette, live, transform } = frame;
  drawTriangle(context, at, transform.k, palette[live.connected() ? status : 'stale'], palette.surface);
}

/** A triangle with an exclamation mark: something is the matter with a part, which a word names beside it. */
function drawTriangle(
  context: CanvasRenderingContext2D,
  { x, y }: Point,
  scale: number,
  color: string,
  background: string,
): void {
  const r = Math.min(MOST, Math.max(LEAST_PX, LEAST_PX / scale));
  context.beginPath();
  context.moveTo(x, y - r);
  context.lineTo(x + r, y + 0.8 * r);
  context.lineTo(x - r, y + 0.8 * r);
  context.closePath();
  context.fillStyle = color;
  context.fill();
  context.fillStyle = background;
  context.fillRect(x - 0.1 * r, y - 0.4 * r, 0.2 * r, 0.6 * r);
  context.fillRect(x - 0.1 * r, y + 0.4 * r, 0.2 * r, 0.2 * r);
}
