import type { ParallelForm } from '@orrery/contract';
import { quantityText } from '../../shared/format/quantity.js';
import { Panel } from '../../shared/page/page-header.js';
import { Dependencies } from '../../shared/parallel/dependencies.js';
import { FormGraph } from '../../shared/parallel/form-graph.js';
import { Provisioning } from '../../shared/parallel/provisioning.js';
import { RejectedForms } from '../../shared/parallel/rejected-forms.js';
import { whySequential } from '../../shared/parallel/why-sequential.js';
import { BarTable } from '../../shared/plan/bar-table.js';
import { wayText } from '../../shared/plan/plan-text.js';
import classes from './plan.module.css';

/** One parallel form: its graph, latency, conflicts and what was rejected. */
export function FormDetail({ form }: { readonly form: ParallelForm }) {
  const why = whySequential(form);
  return (
    <>
      <Panel title={`${wayText(form.nodes)}: ${why ? 'in sequence' : 'in parallel'}`} flush>
        {why && <p className={classes.notePadded}>{why}</p>}
        <FormGraph form={form} />
        <dl className={classes.counts}>
          <Count name="Mirrors" value={form.mirrors} />
          <Count name="Merges" value={form.merges} />
          <Count name="Copies of a packet" value={form.copies} />
          <Count
            name={form.bins.length === 1 ? 'One branch' : `${form.bins.length} branches at the widest place`}
            value={form.bins.map((bin) => bin.join(', ')).join('  |  ') || '–'}
          />
        </dl>
      </Panel>
      <Panel title="Latency">
        <BarTable
          label="Latency of the chain"
          head="Form"
          rows={[
            ['sequential', 'In sequence', form.sequential_us],
            ['parallel', 'In this form, with copies and merges', form.latency_us],
            ['critical', `Critical path alone: ${wayText(form.critical_path)}`, form.critical_path_us],
          ].map(([id, name, value]) => ({
            id: id as string,
            label: name,
            chosen: id === 'parallel',
            parts: [{ name: 'Latency', value: value as number, text: quantityText('us', value as number) }],
          }))}
        />
      </Panel>
      <Dependencies form={form} />
      <RejectedForms form={form} />
      {form.provisioning != null && <Provisioning provisioning={form.provisioning} />}
    </>
  );
}

function Count({ name, value }: { readonly name: string; readonly value: number | string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
