import { ActionIcon, Button, Select } from '@mantine/core';
import type { ClassSlo, PipelineDefinition } from '@orrery/contract';
import { IconPlus, IconX } from '@tabler/icons-react';
import { edgeLabel } from '../../../editor-model/diff.js';
import { setClassSlos } from '../../../editor-model/edit.js';
import { waysThrough } from '../../../editor-model/graph.js';
import { freshName } from '../../../editor-model/identifiers.js';
import { useDerived, useEditorContext } from '../editor/context.js';
import classes from './inspector.module.css';
import { NumberEntry } from './number-entry.js';
import { Section } from './section.js';

const MOST = 16;

type Kind = ClassSlo['kind'];

const KINDS: readonly { readonly value: Kind; readonly label: string }[] = [
  { value: 'priority', label: 'Priority' },
  { value: 'cpu-time', label: 'Processor time' },
  { value: 'throughput', label: 'Throughput' },
];

/** The two classes of an objective, the first over or before the second. */
function classesOf(slo: ClassSlo): readonly [string, string] {
  return slo.kind === 'priority' ? [slo.above, slo.below] : [slo.a, slo.b];
}

/** An objective of another kind between the same classes. */
function withKind(slo: ClassSlo, kind: Kind): ClassSlo {
  const [first, second] = classesOf(slo);
  if (kind === 'priority') return { id: slo.id, kind, above: first, below: second };
  return { id: slo.id, kind, a: first, b: second, ratio: slo.kind === 'priority' ? 1 : slo.ratio };
}

function withClasses(slo: ClassSlo, first: string, second: string): ClassSlo {
  return slo.kind === 'priority' ? { ...slo, above: first, below: second } : { ...slo, a: first, b: second };
}

/** What the chain promises one of its traffic classes over another; a class is named by an edge that only it takes. */
export function ClassSloForm({ definition }: { readonly definition: PipelineDefinition }) {
  const { store, readOnly } = useEditorContext();
  const problems = useDerived((derived) => derived.problems);
  const { class_slos: slos } = definition;
  const ways = waysThrough(definition);
  const named = definition.edges.filter(({ id }) => ways.get(id) === 1);
  const starts = definition.nodes.filter(({ kind }) => kind === 'ingress').map(({ id }) => id);
  const all = definition.edges.reduce((sum, { id, from }) => sum + (starts.includes(from) ? ways.get(id)! : 0), 0);
  const parts = all >= 2 && named.length >= 2;
  const set = (next: ClassSlo[], group?: string) => store.apply((before) => setClassSlos(before, next), group);
  const replace = (index: number, slo: ClassSlo, group?: string) => set(slos.with(index, slo), group);
  const add = () => {
    const id = freshName('class-priority', new Set(slos.map((slo) => slo.id)));
    const [above, below] = parted(
      definition,
      named.map((edge) => edge.id),
    );
    set([...slos, { id, kind: 'priority', above, below }]);
  };
  return (
    <Section title="Objectives between classes">
      {slos.length === 0 && (
        <p className={classes.note}>
          {all < 2
            ? 'The chain has one traffic class: there is nothing to weigh.'
            : 'None: traffic classes are served as they come.'}
        </p>
      )}
      {slos.map((slo, index) => (
        <ClassSloCard
          key={slo.id}
          slo={slo}
          definition={definition}
          ways={ways}
          readOnly={readOnly}
          problemOf={(field) => {
            const pointer = `/class_slos/${index}${field && `/${field}`}`;
            return problems.all.find((each) => each.pointer === pointer)?.message ?? null;
          }}
          onChange={(next, field) => replace(index, next, field && `class-slo:${slo.id}:${field}`)}
          onRemove={() => set(slos.toSpliced(index, 1))}
        />
      ))}
      {!readOnly && slos.length < MOST && (parts || slos.length > 0) && (
        <div className={classes.adders}>
          <Button
            variant="subtle"
            size="compact-xs"
            leftSection={<IconPlus size={12} aria-hidden />}
            disabled={!parts}
            onClick={add}
          >
            Objective between classes
          </Button>
        </div>
      )}
    </Section>
  );
}

/** Two edges of different classes to start from: two that leave the same node and have no objective yet, else any two. */
function parted({ edges, class_slos }: PipelineDefinition, named: readonly string[]): readonly [string, string] {
  const tied = (a: string, b: string) =>
    class_slos.some((slo) => classesOf(slo).includes(a) && classesOf(slo).includes(b));
  for (const edge of edges) {
    const other = edges.find(
      ({ id, from }) => from === edge.from && id !== edge.id && named.includes(id) && !tied(id, edge.id),
    );
    if (named.includes(edge.id) && other) return [edge.id, other.id];
  }
  return [named[0]!, named[1]!];
}

interface ClassSloCardProps {
  readonly slo: ClassSlo;
  readonly definition: PipelineDefinition;
  readonly ways: ReadonlyMap<string, number>;
  readonly readOnly: boolean;
  /** What is wrong with a field, or with `''`, the objective as a whole. */
  readonly problemOf: (field: string) => string | null;
  readonly onChange: (slo: ClassSlo, field?: string) => void;
  readonly onRemove: () => void;
}

function ClassSloCard({ slo, definition, ways, readOnly, problemOf, onChange, onRemove }: ClassSloCardProps) {
  const [first, second] = classesOf(slo);
  const priority = slo.kind === 'priority';
  const [firstField, secondField] = priority ? ['above', 'below'] : ['a', 'b'];
  const options = (chosen: string) => [
    ...definition.edges
      .filter(({ id }) => ways.get(id) === 1 || id === chosen)
      .map((edge) => ({ value: edge.id, label: edgeLabel(definition, edge) })),
    ...(definition.edges.some(({ id }) => id === chosen) ? [] : [{ value: chosen, label: `${chosen} (gone)` }]),
  ];
  const whole = problemOf('') ?? problemOf('id');
  return (
    <fieldset className={classes.card} aria-label={`Objective ${slo.id}`}>
      <div className={classes.cardHead}>
        <span>{slo.id}</span>
        {!readOnly && (
          <ActionIcon size={24} aria-label={`Remove objective ${slo.id}`} onClick={onRemove}>
            <IconX size={13} aria-hidden />
          </ActionIcon>
        )}
      </div>
      <Select
        label="Kind"
        data={KINDS}
        value={slo.kind}
        disabled={readOnly}
        onChange={(kind) => kind && onChange(withKind(slo, kind as Kind))}
      />
      <Select
        label={priority ? 'Served first' : 'Of'}
        data={options(first)}
        value={first}
        disabled={readOnly}
        error={problemOf(firstField!)}
        onChange={(edge) => edge && onChange(withClasses(slo, edge, second))}
      />
      <Select
        label={priority ? 'Before' : 'Over'}
        data={options(second)}
        value={second}
        disabled={readOnly}
        error={problemOf(secondField!)}
        onChange={(edge) => edge && onChange(withClasses(slo, first, edge))}
      />
      {slo.kind !== 'priority' && (
        <NumberEntry
          label="Ratio"
          description={
            slo.kind === 'cpu-time'
              ? 'Cycles for the first over cycles for the second.'
              : 'Packets of the first over packets of the second.'
          }
          min={0.001}
          max={1000}
          value={slo.ratio}
          disabled={readOnly}
          onChange={(ratio) => onChange({ ...slo, ratio }, 'ratio')}
        />
      )}
      {(whole ?? problemOf('ratio')) && <p className={classes.error}>{whole ?? problemOf('ratio')}</p>}
    </fieldset>
  );
}
