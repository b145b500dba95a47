import { quantityText } from '../../shared/format/quantity.js';
import { BOARD_HEADER_H, type BoardBox, slotWords } from './boards.js';
import { DIM, type Frame, is } from './frame.js';
import type { Point } from './geometry.js';
import { drawRow, drawWhole, fitted, readableSize, setFont } from './labels.js';
import { CHIP_H, rateKey, type SceneNode } from './model.js';
import { roundRect } from './shapes.js';
import { stateColor } from './state-color.js';
import { drawTrouble } from './trouble-mark.js';

/** Of `slot 1` in a board. */
const SLOT_LABEL_W = 44;

/** The boards and NFs of a server, or what a board at a switch consists of. */
export function drawContents(context: CanvasRenderingContext2D, frame: Frame, node: SceneNode, at: Point): void {
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
