import { drawLink } from './draw-link.js';
import { drawNode } from './draw-node.js';
import { drawOverlay } from './draw-path.js';
import { DIM, type Frame } from './frame.js';

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
    drawNode(context, frame, node, at);
  }
  if (overlay) drawOverlay(context, frame, overlay);
}
