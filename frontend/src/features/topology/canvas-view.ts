import { select } from 'd3-selection';
import 'd3-transition';
import { type ZoomBehavior, zoom, zoomIdentity } from 'd3-zoom';
import type { Palette } from '../../shared/theme/palette.js';
import { drawFrame } from './draw.js';
import { boxOf } from './draw-path.js';
import type { Frame, LiveView, Target } from './frame.js';
import { contains, distanceToLine, extentOf, fitTransform, type Point } from './geometry.js';
import { READABLE_SCALE } from './labels.js';
import { nodeOf, type Scene } from './model.js';
import { routeLinks } from './routing.js';
import { NO_TROUBLES } from './troubles.js';

export interface ViewEvents {
  readonly hover: (target: Target | null, at: Point) => void;
  readonly pick: (target: Target | null) => void;
  readonly moved: (id: string, to: Point) => void;
}

/** A pointer movement below this is a click. */
const CLICK_PX = 4;
const LINK_SLACK_PX = 8;
const MARGIN_PX = 32;
/** Of a phone. */
const NARROW_PX = 480;

/** Topology on a canvas: redraws on changes, at most once per frame; zoom, pan, node dragging and hit testing. */
export class CanvasView {
  readonly #canvas: HTMLCanvasElement;
  readonly #context: CanvasRenderingContext2D;
  readonly #events: ViewEvents;
  readonly #zoom: ZoomBehavior<HTMLCanvasElement, unknown>;
  readonly #resize: ResizeObserver;
  #frame: Frame;
  #places: Map<string, Point>;
  #scheduled = 0;
  /** The network stays in view when the window is resized, until the user zooms or pans. */
  #follows = true;
  /** The user has asked for all of it, however small. */
  #whole = false;
  #ended = new AbortController();

  constructor(
    canvas: HTMLCanvasElement,
    live: LiveView,
    palette: Palette,
    events: ViewEvents,
    scene: Scene,
    places: Map<string, Point>,
  ) {
    this.#canvas = canvas;
    this.#context = canvas.getContext('2d')!;
    this.#events = events;
    this.#places = places;
    this.#frame = {
      scene,
      places,
      lines: routeLinks(scene, places),
      troubles: NO_TROUBLES,
      overlay: null,
      chainColor: () => palette.stale,
      hover: null,
      selected: null,
      palette,
      live,
      transform: { k: 1, x: 0, y: 0 },
      width: canvas.clientWidth,
      height: canvas.clientHeight,
    };
    this.#zoom = zoom<HTMLCanvasElement, unknown>()
      .scaleExtent([0.08, 3])
      .filter((event: MouseEvent | TouchEvent) => {
        if (event.type === 'wheel') return true;
        const pointer = 'touches' in event ? event.touches[0] : event.button === 0 ? event : undefined;
        if (!pointer) return false;
        const target = this.hit(this.#toScene(pointer));
        return target === null || target.kind === 'link';
      })
      .on('zoom', ({ transform: { k, x, y }, sourceEvent }) => {
        if (sourceEvent) this.#follows = false;
        this.#change({ transform: { k, x, y } });
      });
    select(canvas).call(this.#zoom).on('dblclick.zoom', null);
    this.#resize = new ResizeObserver(() => this.#measure());
    this.#resize.observe(canvas);
    this.#listen();
    this.#measure();
  }

  destroy(): void {
    this.#ended.abort();
    this.#resize.disconnect();
    select(this.#canvas).on('.zoom', null);
    cancelAnimationFrame(this.#scheduled);
  }

  setScene(scene: Scene, places: Map<string, Point>): void {
    this.#places = places;
    this.#change({ scene, places, lines: routeLinks(scene, places) });
    if (this.#follows) this.#fit(0);
  }

  set(change: Partial<Pick<Frame, 'overlay' | 'troubles' | 'chainColor' | 'selected' | 'palette'>>): void {
    this.#change(change);
  }

  /** Measurements have changed. */
  invalidate(): void {
    if (this.#scheduled) return;
    this.#scheduled = requestAnimationFrame(() => {
      this.#scheduled = 0;
      drawFrame(this.#context, this.#frame, window.devicePixelRatio || 1);
    });
  }

  /** Shows the whole network. */
  fit(): void {
    this.#whole = true;
    this.#fit(120);
  }

  /** The whole network, but for a narrow window, where its names could not be read: the middle of it, to be moved about. */
  #fit(durationMs: number): void {
    const { scene, width, height } = this.#frame;
    const boxes = [...scene.nodes.values()].map(({ id, w, h }) => ({ ...this.#places.get(id)!, w, h }));
    const extent = extentOf(boxes);
    if (!extent || width === 0 || height === 0) return;
    this.#follows = true;
    const least = !this.#whole && width < NARROW_PX ? READABLE_SCALE : undefined;
    const { k, x, y } = fitTransform(extent, width, height, MARGIN_PX, 1.25, least);
    this.#go(zoomIdentity.translate(x, y).scale(k), durationMs);
  }

  zoomBy(factor: number): void {
    this.#follows = false;
    const duration = this.#still() ? 0 : 120;
    select(this.#canvas).transition().duration(duration).call(this.#zoom.scaleBy, factor);
  }

  /** Centres a target if it is out of view. */
  reveal(target: Target): void {
    const at = this.#middleOf(target);
    if (!at) return;
    const { transform, width, height } = this.#frame;
    const px = at.x * transform.k + transform.x;
    const py = at.y * transform.k + transform.y;
    if (px > MARGIN_PX && px < width - MARGIN_PX && py > MARGIN_PX && py < height - MARGIN_PX) return;
    const { k } = transform;
    this.#follows = false;
    this.#go(zoomIdentity.translate(width / 2 - at.x * k, height / 2 - at.y * k).scale(k), 120);
  }

  /** The element at a position of the scene; boxes take precedence over lines. */
  hit(point: Point): Target | null {
    const { scene, lines, transform, overlay } = this.#frame;
    for (const id of overlay?.joints.keys() ?? []) {
      const box = boxOf(this.#frame, { joint: id });
      if (box && contains(box, point)) return { kind: 'joint', id };
    }
    for (const node of scene.nodes.values()) {
      const at = this.#places.get(node.id);
      if (!at || !contains({ ...at, w: node.w, h: node.h }, point)) continue;
      const chip = node.chips.find(({ x, y, w, h }) => contains({ x: at.x + x, y: at.y + y, w, h }, point));
      if (chip) return { kind: 'nf', id: chip.id };
      const board = node.boards.find(({ x, y, w, h }) => contains({ x: at.x + x, y: at.y + y, w, h }, point));
      return board ? { kind: 'board', id: board.id } : { kind: 'node', id: node.id };
    }
    let best: Target | null = null;
    let nearest = LINK_SLACK_PX / transform.k;
    for (const [id, line] of lines) {
      const distance = distanceToLine(line, point);
      if (distance >= nearest) continue;
      nearest = distance;
      best = { kind: 'link', id };
    }
    return best;
  }

  #still(): boolean {
    return window.matchMedia('(prefers-reduced-motion: reduce)').matches;
  }

  #go(to: typeof zoomIdentity, durationMs: number): void {
    const canvas = select(this.#canvas);
    if (durationMs === 0 || this.#still()) canvas.call(this.#zoom.transform, to);
    else canvas.transition().duration(durationMs).call(this.#zoom.transform, to);
  }

  #middleOf({ kind, id }: Target): Point | null {
    const { scene, lines } = this.#frame;
    if (kind === 'link') {
      const line = lines.get(id);
      return line?.[Math.floor(line.length / 2)] ?? null;
    }
    const nodeId = nodeOf(scene, kind, id);
    return nodeId === undefined ? null : (this.#places.get(nodeId) ?? null);
  }

  #change(change: Partial<Frame>): void {
    this.#frame = { ...this.#frame, ...change };
    this.invalidate();
  }

  #measure(): void {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    const ratio = window.devicePixelRatio || 1;
    this.#canvas.width = Math.round(width * ratio);
    this.#canvas.height = Math.round(height * ratio);
    this.#change({ width, height });
    if (this.#follows) this.#fit(0);
    // Drawn immediately: waiting for the next frame would flicker.
    drawFrame(this.#context, this.#frame, ratio);
  }

  #toScene(event: { readonly clientX: number; readonly clientY: number }): Point {
    const { left, top } = this.#canvas.getBoundingClientRect();
    const { k, x, y } = this.#frame.transform;
    return { x: (event.clientX - left - x) / k, y: (event.clientY - top - y) / k };
  }

  #hover(target: Target | null, event: PointerEvent): void {
    const { hover } = this.#frame;
    if (hover?.kind !== target?.kind || hover?.id !== target?.id) this.#change({ hover: target });
    this.#canvas.style.cursor = target ? 'pointer' : 'grab';
    this.#events.hover(target, { x: event.clientX, y: event.clientY });
  }

  #listen(): void {
    const canvas = this.#canvas;
    const { signal } = this.#ended;
    let pressed: { target: Target | null; x: number; y: number; grip: Point | null; dragging: boolean } | null = null;

    canvas.addEventListener(
      'pointerdown',
      (event) => {
        if (event.button !== 0) return;
        const point = this.#toScene(event);
        const target = this.hit(point);
        const nodeId = target?.kind === 'node' ? target.id : null;
        const at = nodeId ? this.#places.get(nodeId) : undefined;
        const grip = at ? { x: point.x - at.x, y: point.y - at.y } : null;
        pressed = { target, x: event.clientX, y: event.clientY, grip, dragging: false };
        if (grip) canvas.setPointerCapture(event.pointerId);
      },
      { signal },
    );
    canvas.addEventListener(
      'pointermove',
      (event) => {
        if (!pressed?.grip || pressed.target?.kind !== 'node') {
          if (!pressed) this.#hover(this.hit(this.#toScene(event)), event);
          return;
        }
        if (!pressed.dragging && Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) < CLICK_PX) return;
        if (!pressed.dragging) this.#events.hover(null, { x: 0, y: 0 });
        pressed.dragging = true;
        const point = this.#toScene(event);
        const to = { x: Math.round(point.x - pressed.grip.x), y: Math.round(point.y - pressed.grip.y) };
        this.#places.set(pressed.target.id, to);
        this.#change({ lines: routeLinks(this.#frame.scene, this.#places) });
      },
      { signal },
    );
    canvas.addEventListener(
      'pointerup',
      (event) => {
        const done = pressed;
        pressed = null;
        if (!done) return;
        if (done.dragging && done.target) {
          this.#events.moved(done.target.id, this.#places.get(done.target.id)!);
          return;
        }
        if (Math.hypot(event.clientX - done.x, event.clientY - done.y) < CLICK_PX) this.#events.pick(done.target);
      },
      { signal },
    );
    canvas.addEventListener(
      'pointercancel',
      () => {
        pressed = null;
      },
      { signal },
    );
    canvas.addEventListener('pointerleave', (event) => this.#hover(null, event), { signal });
  }
}
