import { Button } from '@mantine/core';
import type { ChainDefinition, ClassSlo } from '@orrery/contract';
import { IconPlus } from '@tabler/icons-react';
import { setClassSlos } from '../../../editor-model/edit.js';
import { waysThrough } from '../../../editor-model/graph.js';
import { freshName } from '../../../editor-model/identifiers.js';
import { useDerived, useEditorContext } from '../../../shared/chain-draft/context.js';
import { ClassSloCard, classesOf } from './class-slo-card.js';
import classes from './inspector.module.css';
import { Section } from './section.js';

const MOST = 16;

/** Objectives between path classes of the chain; a class is named by an edge that only it takes. */
export function ClassSloForm({ definition }: { readonly definition: ChainDefinition }) {
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
            ? 'The chain has only one traffic class, so there is nothing to weigh.'
            : 'None: no class is preferred.'}
        </p>
      )}
      {slos.length > 0 && (
        <p className={classes.note}>
          Judged wherever the chain runs. Cores keep it where they serve the chain by a planned schedule: choose it in
          the chain’s plan.
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

/** Two edges of different classes to start from: preferably two that leave the same node and have no objective yet. */
function parted({ edges, class_slos }: ChainDefinition, named: readonly string[]): readonly [string, string] {
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
