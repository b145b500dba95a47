import { IconArrowMerge, IconArrowsSplit2 } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { type Critical, linkKey } from './critical-path.js';
import { type Drawing, pathThrough } from './graph-layout.js';
import classes from './graph-view.module.css';

interface Vertex {
  readonly id: string;
  readonly width: number;
  readonly height: number;
}

interface GraphViewProps<V extends Vertex> {
  /** What is drawn, for a screen reader. */
  readonly label: string;
  readonly drawing: Drawing<V>;
  readonly critical: Critical;
  /** What stands in the place of a vertex. */
  readonly children: (vertex: V) => ReactNode;
}

/** A chain from left to right. Its parts are ordinary elements over the drawn links, in the order of the chain. */
export function GraphView<V extends Vertex>({ label, drawing, critical, children }: GraphViewProps<V>) {
  const { vertices, links, width, height } = drawing;
  const marked = links.toSorted((a, b) => Number(isOn(critical, a)) - Number(isOn(critical, b)));
  return (
    <div className={classes.drawing} style={{ width, height }}>
      <svg className={classes.links} width={width} height={height} aria-hidden>
        {marked.map((link) => (
          <path
            key={linkKey(link)}
            className={classes.link}
            data-critical={isOn(critical, link) || undefined}
            d={pathThrough(link.points)}
          />
        ))}
      </svg>
      <ul className={classes.vertices} aria-label={label}>
        {vertices.map((vertex) => {
          const onPath = critical.vertices.has(vertex.id);
          return (
            <li
              key={vertex.id}
              className={classes.vertex}
              data-critical={onPath || undefined}
              style={{ left: vertex.x, top: vertex.y, width: vertex.width, height: vertex.height }}
            >
              {children(vertex)}
              {onPath && <span className="sr-only">, on the critical path</span>}
            </li>
          );
        })}
      </ul>
    </div>
  );
}

const isOn = ({ links }: Critical, link: { from: string; to: string }) => links.has(linkKey(link));

export function NfName({ name }: { readonly name: string }) {
  return (
    <span className={classes.box} title={name}>
      {name}
    </span>
  );
}

/** Of a mirror or a merge, with room for the word below it. */
export const JOINT_SIZE = { width: 26, height: 54 } as const;

const JOINTS = {
  mirror: { icon: IconArrowsSplit2, title: 'mirror: sends a copy of each packet into every branch' },
  merge: { icon: IconArrowMerge, title: 'merge: makes one packet of its copies' },
} as const;

export function JointMark({ kind, children }: { readonly kind: 'mirror' | 'merge'; readonly children?: ReactNode }) {
  const { icon: Icon, title } = JOINTS[kind];
  return (
    <span className={classes.joint} data-kind={kind} title={title}>
      <span aria-hidden>
        <Icon size={16} stroke={1.6} />
      </span>
      <span>{children ?? kind}</span>
    </span>
  );
}

/** Where packets enter or leave. */
export function EndMark({ name }: { readonly name: string }) {
  return <span className={classes.end}>{name}</span>;
}
