import type { ParallelForm } from '@orrery/contract';
import { useMemo } from 'react';
import { wayText } from '../plan/plan-text.js';
import { criticalOf } from './critical-path.js';
import { layoutGraph } from './graph-layout.js';
import { GraphView, JOINT_SIZE, JointMark, NfName } from './graph-view.js';

const NF_SIZE = { width: 128, height: 34 } as const;

/** A line of NFs in its parallel form, with the critical path. */
export function FormGraph({ form }: { readonly form: ParallelForm }) {
  const drawing = useMemo(() => {
    const { vertices, links } = form.graph;
    const sized = vertices.map((vertex) => ({ ...vertex, ...(vertex.kind === 'nf' ? NF_SIZE : JOINT_SIZE) }));
    return layoutGraph({ vertices: sized, links });
  }, [form]);
  const critical = useMemo(() => criticalOf(form.graph, form.critical_path), [form]);
  return (
    <GraphView
      label={`${form.text}; critical path ${wayText(form.critical_path)}`}
      drawing={drawing}
      critical={critical}
    >
      {({ kind, node, id }) => (kind === 'nf' ? <NfName name={node ?? id} /> : <JointMark kind={kind} />)}
    </GraphView>
  );
}
