import classes from './drawing.module.css';

export interface ArcNode {
  readonly id: string;
  readonly label: string;
}

export interface Arc {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly label: string;
  /** In full, for whoever points at it. */
  readonly title: string;
  /** Of the line, pixels. */
  readonly width?: number;
  readonly dashed?: boolean;
}

interface ArcDiagramProps {
  readonly label: string;
  readonly nodes: readonly ArcNode[];
  readonly arcs: readonly Arc[];
  /** Highlighted arc. */
  readonly pointed?: string | null;
  readonly onPoint?: (arc: string | null) => void;
}

const BOX = { width: 116, height: 30, step: 152 } as const;
const RISE = 30;
const EDGE = 8;

/** Items in a row with arcs between them: forward above the row, backward below. A table next to it has the same content. */
export function ArcDiagram({ label, nodes, arcs, pointed = null, onPoint }: ArcDiagramProps) {
  const column = new Map(nodes.map(({ id }, index) => [id, index]));
  const drawn = arcs.flatMap((arc) => {
    const from = column.get(arc.from);
    const to = column.get(arc.to);
    return from === undefined || to === undefined || from === to ? [] : [{ arc, from, to, span: Math.abs(to - from) }];
  });
  const rise = (forward: boolean) =>
    drawn.reduce((most, { from, to, span }) => (to > from === forward ? Math.max(most, span * RISE + 22) : most), 0);
  const above = rise(true);
  const below = rise(false);
  const width = EDGE * 2 + (nodes.length - 1) * BOX.step + BOX.width;
  const height = EDGE * 2 + above + BOX.height + below;
  const top = EDGE + above;
  const middle = (index: number) => EDGE + index * BOX.step + BOX.width / 2;
  return (
    <svg className={classes.drawing} width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img">
      <title>{label}</title>
      {nodes.map(({ id, label: text }, index) => (
        <g key={id} transform={`translate(${EDGE + index * BOX.step} ${top})`}>
          <rect className={classes.box} width={BOX.width} height={BOX.height} rx={4} />
          <text className={classes.text} x={BOX.width / 2} y={BOX.height / 2} dy="0.35em" textAnchor="middle">
            {clipped(text, 16)}
          </text>
        </g>
      ))}
      {drawn.map(({ arc, from, to, span }) => {
        const forward = to > from;
        const y = forward ? top : top + BOX.height;
        const sign = forward ? -1 : 1;
        const start = middle(from) + (forward ? 14 : -14);
        const end = middle(to) + (forward ? -14 : 14);
        const reach = y + sign * span * RISE * (4 / 3);
        return (
          <g
            key={arc.id}
            className={classes.arc}
            data-dashed={arc.dashed || undefined}
            data-pointed={pointed === arc.id || undefined}
            onPointerEnter={() => onPoint?.(arc.id)}
            onPointerLeave={() => onPoint?.(null)}
          >
            <title>{arc.title}</title>
            <path
              d={`M ${start} ${y} C ${start} ${reach}, ${end} ${reach}, ${end} ${y + sign * 5}`}
              strokeWidth={arc.width ?? 1.5}
            />
            <path
              className={classes.head}
              d={`M ${end - 4} ${y + sign * 7} L ${end} ${y} L ${end + 4} ${y + sign * 7} Z`}
            />
          </g>
        );
      })}
      {/* Above all arcs, so that none crosses out the label of another. */}
      {drawn.map(({ arc, from, to, span }) => {
        const forward = to > from;
        const y = forward ? top - span * RISE - 5 : top + BOX.height + span * RISE + 5;
        return (
          <text
            key={arc.id}
            className={classes.arcLabel}
            data-pointed={pointed === arc.id || undefined}
            x={(middle(from) + middle(to)) / 2}
            y={y}
            dy={forward ? '-0.15em' : '0.85em'}
            textAnchor="middle"
          >
            {arc.label}
          </text>
        );
      })}
    </svg>
  );
}

/** A text that fits its box. */
export function clipped(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
