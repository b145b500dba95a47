import type { Box, Point } from './geometry.js';

export function trace(context: CanvasRenderingContext2D, line: readonly Point[]): void {
  context.beginPath();
  for (const [index, { x, y }] of line.entries()) {
    if (index === 0) context.moveTo(x, y);
    else context.lineTo(x, y);
  }
}

export function roundRect(context: CanvasRenderingContext2D, { x, y, w, h }: Box, radius: number): void {
  context.beginPath();
  context.roundRect(x - w / 2, y - h / 2, w, h, radius);
}
