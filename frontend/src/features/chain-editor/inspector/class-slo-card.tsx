import { ActionIcon } from '@mantine/core';
import type { ChainDefinition, ClassSlo } from '@orrery/contract';
import { IconX } from '@tabler/icons-react';
import { edgeLabel } from '../../../editor-model/diff.js';
import { SchemaFields } from '../../../shared/form/schema-fields.js';
import { SloFigures } from '../live/slo-figures.js';
import classes from './inspector.module.css';
import { CLASS_SLO_FIELDS } from './objective-fields.js';

/** The two classes of an objective, the first over or before the second. */
export function classesOf(slo: ClassSlo): readonly [string, string] {
  return slo.kind === 'priority' ? [slo.above, slo.below] : [slo.a, slo.b];
}

/** An objective of another kind between the same classes. */
function withKind(slo: ClassSlo, kind: ClassSlo['kind']): ClassSlo {
  const [first, second] = classesOf(slo);
  const { id, goal, period_s } = slo;
  const kept = { id, ...(goal !== undefined && { goal }), ...(period_s !== undefined && { period_s }) };
  if (kind === 'priority') return { ...kept, kind, above: first, below: second };
  return { ...kept, kind, a: first, b: second, ratio: slo.kind === 'priority' ? 1 : slo.ratio };
}

interface ClassSloCardProps {
  readonly slo: ClassSlo;
  readonly definition: ChainDefinition;
  /** Paths that take each edge. */
  readonly ways: ReadonlyMap<string, number>;
  readonly readOnly: boolean;
  /** The error of a field, or for `''`, of the objective as a whole. */
  readonly problemOf: (field: string) => string | null;
  readonly onChange: (slo: ClassSlo, field?: string) => void;
  readonly onRemove: () => void;
}

export function ClassSloCard({ slo, definition, ways, readOnly, problemOf, onChange, onRemove }: ClassSloCardProps) {
  const named = classesOf(slo);
  const options = definition.edges
    .filter(({ id }) => ways.get(id) === 1 || named.includes(id))
    .map((edge) => ({ value: edge.id, label: edgeLabel(definition, edge) }));
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
      <SchemaFields
        fields={CLASS_SLO_FIELDS[slo.kind]}
        values={slo}
        path={[]}
        form={{
          readOnly,
          strict: true,
          references: { class: { options } },
          problemAt: ([field]) => problemOf(String(field)),
          onChange: ([field], values) => {
            const next = values as ClassSlo;
            if (field === 'kind') onChange(withKind(slo, next.kind));
            else onChange(next, field === 'ratio' ? 'ratio' : undefined);
          },
        }}
      />
      {whole && <p className={classes.error}>{whole}</p>}
      <SloFigures sloId={slo.id} />
    </fieldset>
  );
}
