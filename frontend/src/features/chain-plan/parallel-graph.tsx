import type { ParallelForm } from '@orrery/contract';
import { useMemo } from 'react';
import { wayText } from '../../shared/plan/plan-text.js';
import { clipped } from './arc-diagram.js';
import drawing from './drawing.module.css';
import { criticalVertices, JOINT_SIZE, layoutParallel, NF_BOX } from './parallel-layout.js';

export function FormGraph({ form }: { readonly form: ParallelForm }) {
  const { vertices, width, height } = useMemo(() => layoutParallel(form.graph), [form]);
  const critical = useMemo(() => criticalVertices(form.graph, form.critical_path), [form]);
  const at = new Map(vertices.map((vertex) => [vertex.id, vertex]));
  const isCritical = (id: string) => critical.includes(id) || undefined;
  return (
    <svg className={drawing.drawing} width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img">
      <title>{`${form.text}; critical path ${wayText(form.critical_path)}`}</title>
      {form.graph.links.map(({ from, to }) => {
        const start = at.get(from)!;
        const end = at.get(to)!;
        const x1 = start.x + start.width / 2;
        const x2 = end.x - end.width / 2;
        const bend = Math.min(40, (x2 - x1) / 2);
        const onPath = isCritical(from) && critical[critical.indexOf(from) + 1] === to;
        return (
          <path
            key={`${from} ${to}`}
            className={drawing.link}
            data-critical={onPath || undefined}
            d={
              start.kind === 'mirror'
                ? `M ${x1} ${start.y} C ${x1 + bend} ${start.y}, ${x1} ${end.y}, ${x1 + bend} ${end.y} L ${x2} ${end.y}`
                : `M ${x1} ${start.y} L ${x2 - bend} ${start.y} C ${x2} ${start.y}, ${x2 - bend} ${end.y}, ${x2} ${end.y}`
            }
          />
        );
      })}
      {vertices.map((vertex) =>
        vertex.kind === 'nf' ? (
          <g key={vertex.id} transform={`translate(${vertex.x} ${vertex.y})`}>
            <title>{vertex.node}</title>
            <rect
              className={drawing.box}
              data-critical={isCritical(vertex.id)}
              x={-NF_BOX.width / 2}
              y={-NF_BOX.height / 2}
              width={NF_BOX.width}
              height={NF_BOX.height}
              rx={4}
            />
            <text className={drawing.text} dy="0.35em" textAnchor="middle">
              {clipped(vertex.node ?? vertex.id, 18)}
            </text>
          </g>
        ) : (
          <g key={vertex.id} transform={`translate(${vertex.x} ${vertex.y})`}>
            <title>{vertex.kind === 'mirror' ? 'mirror: copies the packet' : 'merge: joins the copies'}</title>
            <rect
              className={drawing.joint}
              data-critical={isCritical(vertex.id)}
              x={-JOINT_SIZE / 2}
              y={-JOINT_SIZE / 2}
              width={JOINT_SIZE}
              height={JOINT_SIZE}
              rx={vertex.kind === 'mirror' ? 3 : JOINT_SIZE / 2}
            />
            <text className={drawing.small} y={JOINT_SIZE / 2 + 12} textAnchor="middle">
              {vertex.kind}
            </text>
          </g>
        ),
      )}
    </svg>
  );
}
