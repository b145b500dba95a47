import { sampleKey } from '@orrery/contract/sample-keys';
import { quantityText } from '../../shared/format/quantity.js';
import { drawContents } from './draw-contents.js';
import { type Frame, is } from './frame.js';
import type { Box, Point } from './geometry.js';
import { drawRow, drawWhole, fitted, fittedName, readableSize, setFont } from './labels.js';
import { CHIP_H, CORE_LABEL_W, HEADER_H, type SceneNode, SWITCH_H } from './model.js';
import { roundRect } from './shapes.js';
import { stateColor } from './state-color.js';
import { drawTrouble } from './trouble-mark.js';

/** A node with what it contains. */
export function drawNode(context: CanvasRenderingContext2D, frame: Frame, node: SceneNode, at: Point): void {
  if (node.kind === 'server') drawServer(context, frame, node, at);
  else if (node.kind === 'board') drawContents(context, frame, node, at);
  else drawSimple(context, frame, node, at);
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
