import { Button } from '@mantine/core';
import type { Plan } from '@orrery/contract';
import { IconChevronDown, IconShieldCheck } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { durationText } from '../../shared/format/time.js';
import { Panel } from '../../shared/page/page-header.js';
import { FieldErrors } from '../../shared/ui/states.js';
import type { PlanAddress } from './address.js';
import classes from './plan.module.css';
import { PlanFigures } from './plan-figures.js';
import { PartQuality, ProofTable } from './proofs.js';
import { PROVEN_NAMES, PROVEN_PARTS, withCertificate } from './quality.js';

const PROVE_S = 10;

interface OverviewStripProps {
  readonly plan: Plan;
  readonly address: PlanAddress;
}

/** Figures of the plan next to their lower bounds, and the proven quality of each result. */
export function OverviewStrip({ plan, address }: OverviewStripProps) {
  const certificate = useQuery({
    queryKey: ['plan-certificate', plan.id],
    enabled: false,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    queryFn: ({ signal }) =>
      call('certifyPlan', { params: { id: plan.id }, body: { time_limit_s: PROVE_S } }, { signal }),
  });
  const proven = withCertificate(plan.quality, certificate.data?.quality);
  const tighter = proven.filter(({ before }) => before !== null).length;
  const open = address.selected('proofs') === 'shown';
  return (
    <>
      <PlanFigures plan={plan} proven={proven} />
      {proven.length > 0 && (
        <section className={classes.proofs} aria-label="Quality of the plan">
          {PROVEN_PARTS.map((part) => (
            <PartQuality
              key={part}
              name={PROVEN_NAMES[part]}
              proven={proven.filter(({ answer }) => answer.part === part)}
            />
          ))}
          <span className={classes.proofTools}>
            <span role="status" className="muted">
              {certificate.isFetching
                ? `Searching for better bounds, at most ${PROVE_S} s …`
                : certificate.data
                  ? `${tighter === 0 ? 'No bound improved' : tighter === 1 ? 'One bound improved' : `${tighter} bounds improved`} in ${durationText(certificate.data.elapsed_ms)}`
                  : ''}
            </span>
            <Button
              variant="default"
              leftSection={<IconShieldCheck size={14} aria-hidden />}
              loading={certificate.isFetching}
              onClick={() => void certificate.refetch()}
            >
              {certificate.data ? 'Prove again' : 'Prove'}
            </Button>
            <Button
              variant="subtle"
              aria-expanded={open}
              aria-controls="plan-proofs"
              rightSection={
                <IconChevronDown size={14} aria-hidden className={classes.chevron} data-open={open || undefined} />
              }
              onClick={() => address.select('proofs', open ? null : 'shown')}
            >
              Proofs
            </Button>
          </span>
        </section>
      )}
      {certificate.error && !certificate.isFetching && (
        <div className={classes.notice} role="alert">
          <span>
            No proof: {certificate.error.message} The bounds of the plan stay as they were.
            <FieldErrors error={certificate.error} />
          </span>
        </div>
      )}
      <div id="plan-proofs" hidden={!open}>
        {open && (
          <Panel>
            <ProofTable proven={proven} />
          </Panel>
        )}
      </div>
    </>
  );
}
