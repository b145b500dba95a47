import type { LinkSample, NodeStatus } from '@orrery/contract';
import { type Ref, useEffect, useImperativeHandle, useRef, useState } from 'react';
import { serverNow } from '../../shared/api/server-clock.js';
import { LINKS_TOPIC, SAMPLES_TOPIC, STALE_AFTER_MS } from '../../shared/stream/live-store.js';
import { live, streamStore } from '../../shared/stream/stream.js';
import { isCut } from '../../shared/stream/stream-client.js';
import { usePalette } from '../../shared/theme/palette.js';
import { CanvasView, type ViewEvents } from './canvas-view.js';
import type { LiveView, Target } from './frame.js';
import type { Point } from './geometry.js';
import { placesWith } from './layout.js';
import type { Scene } from './model.js';
import type { Overlay } from './overlay.js';
import { Tooltip } from './tooltip.js';
import classes from './topology.module.css';
import type { Troubles } from './troubles.js';

export interface CanvasHandle {
  fit(): void;
  zoomBy(factor: number): void;
  reveal(target: Target): void;
}

interface TopologyCanvasProps {
  readonly ref?: Ref<CanvasHandle>;
  readonly scene: Scene;
  readonly moved: ReadonlyMap<string, Point>;
  readonly onMoved: (id: string, to: Point) => void;
  readonly overlay: Overlay | null;
  readonly troubles: Troubles;
  readonly chainColor: (chainId: string) => string;
  readonly selected: Target | null;
  readonly onSelect: (target: Target | null) => void;
  readonly nodes: readonly NodeStatus[];
  /** Last known state of the links, until the stream delivers a newer one. */
  readonly links: readonly LinkSample[];
}

/** Redraw interval without updates, so that stale elements become visible as such. */
const STALE_TICK_MS = 1000;

export function TopologyCanvas(props: TopologyCanvasProps) {
  const { ref, scene, moved, overlay, troubles, chainColor, selected } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const tooltip = useRef<HTMLDivElement>(null);
  const view = useRef<CanvasView | null>(null);
  const [hover, setHover] = useState<Target | null>(null);
  const palette = usePalette();
  const latest = useRef({ ...props, palette });
  latest.current = { ...props, palette };

  // Made once; what changes is handed on below.
  useEffect(() => {
    const element = canvas.current!;
    const isStale = (age_ms: number) => isCut(streamStore.getState()) || age_ms > STALE_AFTER_MS;
    const receivedStale = (received_ms: number) => isStale(performance.now() - received_ms);
    const measured: LiveView = {
      link: (id) => {
        const streamed = live.link(id);
        if (streamed) return { ...streamed, stale: receivedStale(streamed.received_ms) };
        const known = latest.current.links.find(({ link_id }) => link_id === id);
        return known ? { ...known, stale: isStale(serverNow() - known.t_ms) } : null;
      },
      value: (key) => {
        const sample = live.sample(key);
        return sample ? { value: sample.value, stale: receivedStale(sample.received_ms) } : null;
      },
      connected: () => streamStore.getState().state === 'connected',
      agent: (server) => latest.current.nodes.find(({ id }) => id === server)?.state ?? null,
    };
    const events: ViewEvents = {
      hover: (target, at) => {
        setHover((before) => (before?.kind === target?.kind && before?.id === target?.id ? before : target));
        const box = element.getBoundingClientRect();
        tooltip.current?.style.setProperty('--x', `${at.x - box.left}px`);
        tooltip.current?.style.setProperty('--y', `${at.y - box.top}px`);
        tooltip.current?.toggleAttribute('data-left', at.x - box.left > box.width - 260);
        tooltip.current?.toggleAttribute('data-up', at.y - box.top > box.height - 160);
      },
      pick: (target) => latest.current.onSelect(target),
      moved: (id, to) => latest.current.onMoved(id, to),
    };
    const { palette, scene, moved } = latest.current;
    const made = new CanvasView(element, measured, palette, events, scene, placesWith(scene, moved));
    view.current = made;
    const redraw = () => made.invalidate();
    const ends = [live.subscribe(LINKS_TOPIC, redraw), live.subscribe(SAMPLES_TOPIC, redraw)];
    const ticks = setInterval(redraw, STALE_TICK_MS);
    return () => {
      for (const end of ends) end();
      clearInterval(ticks);
      made.destroy();
      view.current = null;
    };
  }, []);

  useEffect(() => view.current?.setScene(scene, placesWith(scene, moved)), [scene, moved]);
  useEffect(
    () => view.current?.set({ overlay, troubles, chainColor, selected, palette }),
    [overlay, troubles, chainColor, selected, palette],
  );

  useImperativeHandle(
    ref,
    () => ({
      fit: () => view.current?.fit(),
      zoomBy: (factor) => view.current?.zoomBy(factor),
      reveal: (target) => view.current?.reveal(target),
    }),
    [],
  );

  return (
    <>
      <canvas
        ref={canvas}
        className={classes.canvas}
        role="img"
        aria-label={`Topology ${scene.name}: ${scene.nodes.size} nodes and ${scene.links.size} links. The element list contains the same data.`}
      />
      <div ref={tooltip} className={classes.tooltip} hidden={hover === null}>
        {hover && <Tooltip target={hover} scene={scene} troubles={troubles} />}
      </div>
    </>
  );
}
