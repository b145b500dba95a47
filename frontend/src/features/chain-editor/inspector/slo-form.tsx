import { ActionIcon, Button } from '@mantine/core';
import type { ChainDefinition, Slo } from '@orrery/contract';
import { IconPlus, IconX } from '@tabler/icons-react';
import { setSlos } from '../../../editor-model/edit.js';
import { freshName } from '../../../editor-model/identifiers.js';
import { useDerived, useEditorContext } from '../../../shared/chain-draft/context.js';
import { SchemaFields } from '../../../shared/form/schema-fields.js';
import { pointerOf } from '../../../shared/form/widget.js';
import { SloFigures } from '../live/slo-figures.js';
import classes from './inspector.module.css';
import { SLO_FIELDS } from './objective-fields.js';
import { Section } from './section.js';

const KINDS = {
  latency: { title: 'Latency', fresh: { kind: 'latency', percentile: 99, max_us: 10_000 }, id: 'latency-p99' },
  throughput: { title: 'Throughput', fresh: { kind: 'throughput', min_bps: 1e6 }, id: 'throughput' },
  loss: { title: 'Loss', fresh: { kind: 'loss', max_share: 0.01 }, id: 'loss' },
  availability: { title: 'Availability', fresh: { kind: 'availability', min_share: 0.5 }, id: 'availability' },
} as const satisfies Record<Slo['kind'], unknown>;

/** Objectives of the chain as a whole. */
export function SloForm({ definition }: { readonly definition: ChainDefinition }) {
  const { store, readOnly } = useEditorContext();
  const problems = useDerived((derived) => derived.problems);
  const { slos } = definition;
  const set = (next: Slo[], group?: string) => store.apply((before) => setSlos(before, next), group);
  const replace = (slo: Slo, field: string) =>
    set(
      slos.map((each) => (each.id === slo.id ? slo : each)),
      `slo:${slo.id}:${field}`,
    );
  const taken = new Set(slos.map((slo) => slo.id));
  return (
    <Section title="Objectives">
      {slos.length === 0 && <p className={classes.note}>No objectives.</p>}
      {slos.map((slo, index) => (
        <div key={slo.id} className={classes.card}>
          <div className={classes.cardHead}>
            <span>{KINDS[slo.kind].title}</span>
            {!readOnly && (
              <ActionIcon
                size={24}
                aria-label={`Remove objective ${slo.id}`}
                onClick={() => set(slos.filter((each) => each.id !== slo.id))}
              >
                <IconX size={13} aria-hidden />
              </ActionIcon>
            )}
          </div>
          <div className={classes.pair}>
            <SchemaFields
              fields={SLO_FIELDS[slo.kind]}
              values={slo}
              path={['slos', index]}
              form={{
                readOnly,
                strict: true,
                problemAt: (path) => problems.all.find(({ pointer }) => pointer === pointerOf(path))?.message ?? null,
                onChange: (path, next) => replace(next as Slo, String(path.at(-1))),
              }}
            />
          </div>
          <SloFigures sloId={slo.id} />
        </div>
      ))}
      {!readOnly && slos.length < 16 && (
        <div className={classes.adders}>
          {Object.values(KINDS).map(({ title, fresh, id }) => (
            <Button
              key={id}
              variant="subtle"
              size="compact-xs"
              leftSection={<IconPlus size={12} aria-hidden />}
              onClick={() => set([...slos, { id: freshName(id, taken), ...fresh }])}
            >
              {title} objective
            </Button>
          ))}
        </div>
      )}
    </Section>
  );
}
