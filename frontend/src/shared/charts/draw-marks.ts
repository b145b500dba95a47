import type uPlot from 'uplot';
import { type Quantity, quantityText } from '../format/quantity.js';
import { type Palette, seriesColor } from '../theme/palette.js';
import type { EventMark } from './event-marks.js';
import { type ChartBand, type ChartLevel, placeLabels } from './marks.js';

/** Part of the plot, from the left, that stays free of labels. */
const LEAST_CLEAR = 0.45;

/** A dashed line across the plot. */
function drawLine({ ctx, bbox }: uPlot, y: number, color: string): void {
  ctx.strokeStyle = color;
  ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.lineWidth = devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
}

/** Draws the lines of all levels, then their labels on top. A label without room appears only in the legend. */
export function drawLevels(plot: uPlot, levels: readonly ChartLevel[], quantity: Quantity, palette: Palette): void {
  const { ctx, bbox } = plot;
  const size = 10 * devicePixelRatio;
  ctx.save();
  ctx.font = `${size}px system-ui, sans-serif`;
  ctx.textAlign = 'right';
  ctx.textBaseline = 'bottom';
  const labels = levels.map(({ value, sign, name, series }) => {
    const y = Math.round(plot.valToPos(value, 'y', true));
    drawLine(plot, y, series === null ? palette['text-muted'] : seriesColor(palette, series));
    const text = `${sign} ${name} ${quantityText(quantity, value)}`;
    return { y, text, width: ctx.measureText(text).width + 4 * devicePixelRatio };
  });
  const places = placeLabels(labels, {
    left: bbox.left + bbox.width * LEAST_CLEAR,
    right: bbox.left + bbox.width,
    height: size * 1.2,
    gap: size,
  });
  for (const [index, { y, text, width }] of labels.entries()) {
    const right = places[index];
    if (right === null || right === undefined) continue;
    ctx.fillStyle = palette.surface;
    ctx.fillRect(right - width, y - size - devicePixelRatio, width, size + devicePixelRatio);
    ctx.fillStyle = palette['text-muted'];
    ctx.fillText(text, right - 2 * devicePixelRatio, y - devicePixelRatio);
  }
  ctx.restore();
}

export function drawBands(plot: uPlot, bands: readonly ChartBand[], palette: Palette): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.fillStyle = palette.selected;
  for (const { from_ms, to_ms } of bands) {
    const left = Math.max(bbox.left, plot.valToPos(from_ms / 1000, 'x', true));
    const right = Math.min(bbox.left + bbox.width, plot.valToPos(to_ms / 1000, 'x', true));
    if (right > left) ctx.fillRect(left, bbox.top, right - left, bbox.height);
  }
  ctx.restore();
}

/** The dashed line of a threshold. */
export function drawThreshold(plot: uPlot, threshold: number, palette: Palette): void {
  plot.ctx.save();
  drawLine(plot, Math.round(plot.valToPos(threshold, 'y', true)), palette.failed);
  plot.ctx.restore();
}

/** Half of the width of the head of an event's mark, in CSS pixels. */
const HEAD_PX = 4;

/** A faint line with a head at the top for each mark: its colour is the severity, and of a warning or an error it is filled. */
export function drawEvents(plot: uPlot, marks: readonly EventMark[], palette: Palette): void {
  const { ctx, bbox } = plot;
  const half = HEAD_PX * devicePixelRatio;
  const colors = { info: palette['text-muted'], warning: palette.degraded, error: palette.failed };
  ctx.save();
  ctx.lineWidth = devicePixelRatio;
  for (const { t_s, severity } of marks) {
    const x = Math.round(plot.valToPos(t_s, 'x', true));
    ctx.strokeStyle = colors[severity];
    ctx.fillStyle = severity === 'info' ? palette.surface : colors[severity];
    ctx.globalAlpha = 0.45;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.globalAlpha = 1;
    ctx.beginPath();
    ctx.moveTo(x - half, bbox.top);
    ctx.lineTo(x + half, bbox.top);
    ctx.lineTo(x, bbox.top + 1.5 * half);
    ctx.closePath();
    ctx.fill();
    ctx.stroke();
  }
  ctx.restore();
}
