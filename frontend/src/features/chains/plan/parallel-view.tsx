import type { ParallelForm, Plan } from '@orrery/contract';
import { useMemo, useState } from 'react';
import { useChainTitle } from '../../../shared/api/chains.js';
import { quantityText } from '../../../shared/format/quantity.js';
import { constraintText, edgesOfClass, wayText } from '../../../shared/plan/plan-text.js';
import { Panel } from '../../../shared/ui/page-header.js';
import { EmptyState } from '../../../shared/ui/states.js';
import type { PlanAddress } from './address.js';
import { ArcDiagram, clipped } from './arc-diagram.js';
import { BarTable } from './bar-table.js';
import drawing from './drawing.module.css';
import { LeftOut, leftOutOf } from './left-out.js';
import { choiceLabel } from './options.js';
import { ownFirst } from './own-first.js';
import { criticalVertices, JOINT_SIZE, layoutParallel, NF_BOX } from './parallel-layout.js';
import classes from './plan.module.css';

const strategyName = (strategy: string) => choiceLabel('parallelization', strategy);

interface ParallelProps {
  readonly plan: Plan;
  readonly pipelineId: string;
  readonly address: PlanAddress;
}

/** The parallel form of each linear chain, and of the one that is chosen its graph, its conflicts and what was rejected. */
export function ParallelView({ plan, pipelineId, address }: ParallelProps) {
  const titleOf = useChainTitle();
  const forms = useMemo(() => ownFirst(plan.parallel, pipelineId), [plan, pipelineId]);
  const [first] = forms;
  const leftOut = <LeftOut plan={plan} part="parallelization" pipelineId={pipelineId} />;
  if (!first)
    return leftOutOf(plan, 'parallelization', pipelineId).length > 0 ? (
      leftOut
    ) : (
      <EmptyState title="Nothing to run side by side">A chain needs a path with at least two NFs for it.</EmptyState>
    );
  const form = forms.find(({ id }) => id === address.selected('form')) ?? first;
  return (
    <div className={classes.groups}>
      <p className={classes.honest}>
        <span className={classes.label}>predicted</span> The twin and the engine run chains in sequence so far.
      </p>
      {leftOut}
      <Panel title="Paths" flush>
        <table className="table" aria-label="Parallel forms">
          <thead>
            <tr>
              <th>Path</th>
              <th>Form</th>
              <th className="number">In sequence</th>
              <th className="number">In parallel</th>
              <th className="number">Saves</th>
              <th className="number">Copies</th>
            </tr>
          </thead>
          <tbody>
            {forms.map((each) => (
              <tr key={each.id} data-clickable="true" data-selected={each === form || undefined}>
                <td>
                  <button
                    type="button"
                    className="row-link"
                    aria-pressed={each === form}
                    onClick={() => address.select('form', each.id)}
                  >
                    {titleOf(each.pipeline_id)}
                  </button>{' '}
                  <code className="muted">{edgesOfClass(each.id)}</code>
                </td>
                <td className={classes.words}>{each.text}</td>
                <td className="number">{quantityText('us', each.sequential_us)}</td>
                <td className="number">{quantityText('us', each.latency_us)}</td>
                <td className="number">{each.reverted ? '–' : quantityText('share', savedShare(each))}</td>
                <td className="number">{each.copies}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Panel>
      <Form key={form.id} form={form} />
    </div>
  );
}

function savedShare({ sequential_us, latency_us }: ParallelForm): number {
  return sequential_us > 0 ? Math.max(0, 1 - latency_us / sequential_us) : 0;
}

/** Why the chain stays as it is drawn; null where it does not. */
function whySequential(form: ParallelForm): string | null {
  if (form.mirrors > 0 && !form.reverted) return null;
  if (form.reverted) return 'it stays sequential because the gain is too small for what copies and merges cost.';
  if (form.strategy === 'sequential') return 'it stays sequential because that is what the option asks for.';
  const bound = form.conflicts.find((conflict) => !conflict.parallel);
  return bound
    ? `it stays sequential because ${bound.sentence}.`
    : 'it stays sequential because no parallel form is quicker.';
}

function Form({ form }: { readonly form: ParallelForm }) {
  const why = whySequential(form);
  return (
    <>
      <Panel title={`${wayText(form.nodes)}: ${why ? 'in sequence' : 'side by side'}`} flush>
        {why && (
          <p className={classes.notePadded}>
            By {strategyName(form.strategy)} {why}
          </p>
        )}
        <GraphDrawing form={form} />
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
      <Panel title="Latency" flush>
        <BarTable
          label="Latency of the chain"
          head="Form"
          rows={[
            ['sequential', 'In sequence', form.sequential_us],
            ['parallel', 'As planned, with copies and merges', form.latency_us],
            ['critical', `Critical path alone: ${wayText(form.critical_path)}`, form.critical_path_us],
          ].map(([id, name, value]) => ({
            id: id as string,
            label: name,
            chosen: id === 'parallel',
            parts: [{ name: 'Latency', value: value as number, text: quantityText('us', value as number) }],
          }))}
        />
      </Panel>
      <Conflicts form={form} />
      <Rejected form={form} />
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

function GraphDrawing({ form }: { readonly form: ParallelForm }) {
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

interface Dependency {
  readonly number: string;
  readonly earlier: string;
  readonly later: string;
  readonly sentences: readonly string[];
  /** They may run side by side all the same. */
  readonly parallel: boolean;
}

/** Conflicts by the pair that they are between, numbered. */
function dependenciesOf({ conflicts }: ParallelForm): Dependency[] {
  const byPair = new Map<string, Dependency>();
  for (const { earlier, later, sentence, parallel } of conflicts) {
    const key = `${earlier} ${later}`;
    const before = byPair.get(key);
    byPair.set(key, {
      number: before?.number ?? String(byPair.size + 1),
      earlier,
      later,
      sentences: [...(before?.sentences ?? []), sentence],
      parallel: parallel && (before?.parallel ?? true),
    });
  }
  return [...byPair.values()];
}

/** The dependency graph: an arc for each pair that touches the same, with its sentences beside it. */
function Conflicts({ form }: { readonly form: ParallelForm }) {
  const [pointed, setPointed] = useState<string | null>(null);
  const dependencies = useMemo(() => dependenciesOf(form), [form]);
  if (dependencies.length === 0)
    return (
      <Panel title="Dependencies">
        <p className={classes.plain}>No two NFs of this chain touch the same field or state.</p>
      </Panel>
    );
  return (
    <Panel title="Dependencies" flush>
      <ArcDiagram
        label={`Dependencies between the NFs of the chain: ${dependencies.map((each) => `${each.earlier} and ${each.later}`).join(', ')}`}
        nodes={form.nodes.map((node) => ({ id: node, label: node }))}
        arcs={dependencies.map(({ number, earlier, later, sentences, parallel }) => ({
          id: number,
          from: earlier,
          to: later,
          label: number,
          title: sentences.join('; '),
          dashed: parallel,
        }))}
        pointed={pointed}
        onPoint={setPointed}
      />
      <table className="table" aria-label="Dependencies">
        <thead>
          <tr>
            <th className="number">Arc</th>
            <th>Pair</th>
            <th>Why</th>
            <th>Side by side</th>
          </tr>
        </thead>
        <tbody>
          {dependencies.map(({ number, earlier, later, sentences, parallel }) => (
            <tr
              key={number}
              data-selected={pointed === number || undefined}
              onPointerEnter={() => setPointed(number)}
              onPointerLeave={() => setPointed(null)}
            >
              <td className="number">{number}</td>
              <td className={classes.pair}>
                {earlier} → {later}
              </td>
              <td className={classes.words}>
                {sentences.map((sentence) => (
                  <div key={sentence}>{sentence}</div>
                ))}
              </td>
              <td>{parallel ? 'allowed (dashed)' : 'forbidden'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

function Rejected({ form }: { readonly form: ParallelForm }) {
  if (form.rejected.length === 0) return null;
  return (
    <Panel title="What else was tried" flush>
      <table className="table" aria-label="Rejected strategies">
        <thead>
          <tr>
            <th>Strategy</th>
            <th>Form</th>
            <th className="number">Latency</th>
            <th className="number">Copies</th>
            <th>Why not</th>
          </tr>
        </thead>
        <tbody>
          <tr data-selected="true">
            <td>{strategyName(form.strategy)}</td>
            <td>{form.text}</td>
            <td className="number">{quantityText('us', form.latency_us)}</td>
            <td className="number">{form.copies}</td>
            <td>chosen</td>
          </tr>
          {form.rejected.map((each) => (
            <tr key={each.strategy}>
              <td>{strategyName(each.strategy)}</td>
              <td className={classes.words}>{each.text}</td>
              <td className="number">{quantityText('us', each.latency_us)}</td>
              <td className="number">{each.copies}</td>
              <td className={classes.words}>{each.because}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

/** Where the instances of the form would stand on empty servers, and where its packets would be joined. */
function Provisioning({ provisioning }: { readonly provisioning: NonNullable<ParallelForm['provisioning']> }) {
  const { counts, conflicts, compared, merges, cross_traffic_bps } = provisioning;
  return (
    <Panel title="If the servers were empty" actions={<span className={classes.label}>proposal</span>} flush>
      {conflicts.length > 0 ? (
        <ul className={classes.sentences}>
          {conflicts.map((conflict) => (
            <li key={`${conflict.constraint}${conflict.where}`}>{constraintText(conflict)}.</li>
          ))}
        </ul>
      ) : (
        <table className="table" aria-label="Instances of the parallel form">
          <thead>
            <tr>
              <th>NF</th>
              <th>Server</th>
              <th className="number">Instances</th>
            </tr>
          </thead>
          <tbody>
            {counts.map((count) => (
              <tr key={`${count.node}${count.server}`}>
                <td>{count.node}</td>
                <td>{count.server}</td>
                <td className="number">{count.instances}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {compared.length > 0 && (
        <p className={classes.notePadded}>
          {quantityText('bps', cross_traffic_bps)} between servers.{' '}
          {compared
            .map(
              (each) =>
                `${each.strategy}${each.chosen ? ' (chosen)' : ''}: ${each.cross_traffic_bps === null ? 'no place' : quantityText('bps', each.cross_traffic_bps)}`,
            )
            .join(', ')}
          .
        </p>
      )}
      {merges.length > 0 && (
        <table className="table" aria-label="Where packets would be joined">
          <thead>
            <tr>
              <th>Step</th>
              <th>Mirror and merge</th>
              <th className="number">Over links, a packet</th>
              <th className="number">Switch passes</th>
              <th>Rejected</th>
            </tr>
          </thead>
          <tbody>
            {merges.map((merge) => (
              <tr key={merge.step}>
                <td className={classes.words}>{merge.step}</td>
                <td>{merge.chosen ?? 'every option fills a link'}</td>
                <td className="number">{quantityText('bytes', merge.link_bytes)}</td>
                <td className="number">{Number(merge.switch_traversals.toPrecision(3))}</td>
                <td className={classes.words}>
                  {merge.rejected.map((each) => `${each.title}: ${each.because}`).join('; ') || '–'}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}
