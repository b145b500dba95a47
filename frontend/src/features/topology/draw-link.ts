import { interpolateLab } from 'd3-interpolate';
import { quantityText } from '../../shared/format/quantity.js';
import type { Palette } from '../../shared/theme/palette.js';
import { DIM, type Frame, is } from './frame.js';
import { offsetLine, type Point } from './geometry.js';
import { readableSize, setFont } from './labels.js';
import { roundRect, trace } from './shapes.js';

/** From the middle of a link to the line of each direction. */
const LANE = 4;
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

export function drawLink(context: CanvasRenderingContext2D, frame: Frame, id: string): void {
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
