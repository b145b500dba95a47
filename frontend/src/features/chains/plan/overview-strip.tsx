import { Button, Tooltip } from '@mantine/core';
import type { Plan } from '@orrery/contract';
import { IconChevronDown, IconCircleCheck, IconCircleDashed, IconShieldCheck } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { call } from '../../../shared/api/client.js';
import { quantityText } from '../../../shared/format/quantity.js';
import { durationText } from '../../../shared/format/time.js';
import { amount, coresText, gapText, objectivesMet, qualityText, sentence } from '../../../shared/plan/plan-text.js';
import { Panel } from '../../../shared/ui/page-header.js';
import { FieldErrors } from '../../../shared/ui/states.js';
import type { PlanAddress } from './address.js';
import classes from './plan.module.css';
import { PROVEN_NAMES, PROVEN_PARTS, type Proven, withCertificate } from './quality.js';

const PROVE_S = 10;

interface OverviewStripProps {
  readonly plan: Plan;
  readonly address: PlanAddress;
}

/** What the plan costs against what no plan could undercut, and how good each of its answers is proven to be. */
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
      <Figures plan={plan} proven={proven} />
      {proven.length > 0 && (
        <section className={classes.proofs} aria-label="How good the plan is">
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
                ? `Searching for better answers, at most ${PROVE_S} s …`
                : certificate.data
                  ? `${tighter === 0 ? 'No bound got tighter' : tighter === 1 ? 'One bound got tighter' : `${tighter} bounds got tighter`} in ${durationText(certificate.data.elapsed_ms)}`
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
            Nothing was proven: {certificate.error.message} What the plan says of itself stands as it was.
            <FieldErrors error={certificate.error} />
          </span>
        </div>
      )}
      <div id="plan-proofs" hidden={!open}>
        {open && (
          <Panel flush>
            <ProofTable proven={proven} />
          </Panel>
        )}
      </div>
    </>
  );
}

function PartQuality({ name, proven }: { readonly name: string; readonly proven: readonly Proven[] }) {
  const answers = proven.map(({ answer }) => answer);
  if (answers.length === 0) return null;
  const optimal = answers.every((answer) => answer.optimal);
  const worst = answers.reduce((most, answer) => (answer.gap > most.gap ? answer : most), answers[0]!);
  const Icon = optimal ? IconCircleCheck : IconCircleDashed;
  const count = answers.length === 1 ? '' : `The widest gap of ${answers.length} answers. `;
  const proof = `${count}${sentence(`${worst.objective}: ${amount(worst.value, worst.unit)}, bound ${amount(worst.bound, worst.unit)}`)} Found by ${worst.method}; ${worst.proof}.`;
  return (
    <Tooltip label={proof} multiline w={320} px="sm" py={6} events={{ hover: true, focus: true, touch: true }}>
      <button type="button" className={classes.quality} data-optimal={optimal || undefined} aria-description={proof}>
        <Icon size={14} aria-hidden />
        <span className="muted">{name}</span>
        <span>{qualityText(answers)}</span>
      </button>
    </Tooltip>
  );
}

function Figures({ plan, proven }: { readonly plan: Plan; readonly proven: readonly Proven[] }) {
  const { cost } = plan;
  const placement = proven.find(({ answer }) => answer.part === 'placement')?.answer;
  const bound = Math.max(cost.lower_bound_bps, placement?.unit === 'bps' ? placement.bound : 0);
  const gap = placement?.gap ?? (cost.cross_traffic_bps > 0 ? 1 - bound / cost.cross_traffic_bps : 0);
  const slowest = plan.classes.reduce<Plan['classes'][number] | null>(
    (most, each) => (most && most.p99_us >= each.p99_us ? most : each),
    null,
  );
  const { met, all } = objectivesMet(plan);
  const servers = new Set(plan.instances.map(({ server }) => server)).size;
  return (
    <dl className={classes.cost} aria-label="Figures of the plan">
      <div>
        <dt>Between servers</dt>
        <dd>{quantityText('bps', cost.cross_traffic_bps)}</dd>
        <dd className="muted">
          bound {quantityText('bps', bound)}
          {gap > 0 ? `, gap ≤ ${gapText(gap)}` : ', reached'}
        </dd>
      </div>
      <div>
        <dt>Cores</dt>
        <dd>{coresText(cost.cores_used)}</dd>
        <dd className="muted">of {cost.cores_available}</dd>
      </div>
      <div>
        <dt>Instances</dt>
        <dd>{plan.instances.length}</dd>
        <dd className="muted">on {servers === 1 ? 'one server' : `${servers} servers`}</dd>
      </div>
      <div>
        <dt>Worst p99, predicted</dt>
        <dd>{slowest ? quantityText('us', slowest.p99_us) : '–'}</dd>
        <dd className="muted" title={slowest?.nodes.join(' → ')}>
          {slowest ? slowest.nodes.join(' → ') : 'no traffic class'}
        </dd>
      </div>
      <div data-bad={met < all || undefined}>
        <dt>Objectives met, predicted</dt>
        <dd>{all === 0 ? '–' : `${met} of ${all}`}</dd>
        <dd className="muted">
          {all === 0 ? 'none is set' : met === all ? 'every one' : `${all - met} will be missed`}
        </dd>
      </div>
    </dl>
  );
}

function ProofTable({ proven }: { readonly proven: readonly Proven[] }) {
  return (
    <table className="table" aria-label="Proofs">
      <thead>
        <tr>
          <th>Part</th>
          <th>Subject</th>
          <th>Keeps small</th>
          <th className="number">Value</th>
          <th className="number">Bound</th>
          <th className="number">Gap</th>
          <th>Method</th>
          <th>Proof</th>
        </tr>
      </thead>
      <tbody>
        {proven.map(({ answer, before }) => (
          <tr key={`${answer.part} ${answer.subject} ${answer.objective}`} data-selected={before !== null || undefined}>
            <td>{answer.part}</td>
            <td>
              <code>{answer.subject}</code>
            </td>
            <td>{answer.objective}</td>
            <td className="number">{amount(answer.value, answer.unit)}</td>
            <td className="number">
              {amount(answer.bound, answer.unit)}
              {before && <div className="muted">was {amount(before.bound, before.unit)}</div>}
            </td>
            <td className="number">
              {answer.optimal ? 'none' : gapText(answer.gap)}
              {before && before.gap !== answer.gap && <div className="muted">was {gapText(before.gap)}</div>}
            </td>
            <td>{answer.method}</td>
            <td className={classes.words}>{answer.proof}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
