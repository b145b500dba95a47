import { Button } from '@mantine/core';
import type { Execution } from '@orrery/contract';
import { IconGitBranch, IconRoute } from '@tabler/icons-react';
import { Link } from 'react-router';
import { chainPath, planPath } from '../../shared/api/chains.js';
import { useMay } from '../../shared/api/session.js';
import { ChainState } from '../../shared/chain/chain-state.js';
import { SwitchRun } from '../../shared/chain/switch-run.js';
import { whySequential } from '../../shared/parallel/why-sequential.js';
import { constraintText } from '../../shared/plan/plan-text.js';
import { ErrorState, LoadingRows } from '../../shared/ui/states.js';
import { ChainGraphs } from './chain-graphs.js';
import { nfCount } from './chain-rows.js';
import { EXECUTION_WORDS } from './columns.js';
import { LatencyPanel } from './latency-panel.js';
import { LinePanels } from './line-panels.js';
import { MergeCost } from './merge-cost.js';
import classes from './parallelism.module.css';
import type { KnownChain } from './use-chains.js';

/** The selected chain: as drawn and as it runs, what that gains and costs, and why. */
export function ChainDetail({ chain }: { readonly chain: KnownChain }) {
  const { row } = chain;
  const mayPlan = useMay('operator');
  return (
    <section className={classes.detail} aria-label={`Chain ${row.title}`}>
      <header className={classes.detailHead}>
        <h2>{row.title}</h2>
        <span className={classes.detailState}>
          <ChainState chainId={row.id} state={row.state} />
        </span>
        {row.execution && <span className="muted">runs {EXECUTION_WORDS[row.execution]}</span>}
        <span className={classes.detailTools}>
          {row.deployment && chain.plan && (
            <SwitchRun
              deployment={row.deployment}
              plan={chain.plan}
              title={row.title}
              dimension="execution"
              pointless={row.execution === 'sequential' ? whyPointless(chain) : null}
            />
          )}
          <Button
            component={Link}
            to={chainPath(row.id)}
            variant="subtle"
            leftSection={<IconRoute size={14} aria-hidden />}
          >
            Editor
          </Button>
          {mayPlan && (
            <Button
              component={Link}
              to={`${planPath(row.id)}?tab=parallel`}
              variant="subtle"
              leftSection={<IconGitBranch size={14} aria-hidden />}
            >
              Other strategies
            </Button>
          )}
        </span>
      </header>
      <WhyNot chain={chain} />
      <ChainGraphs chain={chain} />
      <LatencyPanel chain={chain} />
      <MergeCost chain={chain} />
      <LinePanels chain={chain} />
    </section>
  );
}

/** Why running in parallel would change nothing; null: it would, or it is not known. */
function whyPointless({ row }: KnownChain): string | null {
  if (row.canGain !== false) return null;
  const [form] = row.forms;
  return form ? whySequential(form) : 'No two NFs of it stand in line.';
}

/** Why nothing of the chain runs in parallel, or why it cannot be predicted. */
function WhyNot({ chain }: { readonly chain: KnownChain }) {
  const { row, in: of } = chain;
  const mayPlan = useMay('operator');
  if (!row.deployment && !mayPlan)
    return <p className={classes.note}>What a draft would gain is planned by operators.</p>;
  const wanted: Execution = row.execution === 'parallel' ? 'sequential' : 'parallel';
  const { error, isPending, plan } = of[wanted];
  if (error) return <ErrorState error={error} title={`Not predicted ${EXECUTION_WORDS[wanted]}`} />;
  if (isPending) return <LoadingRows rows={2} />;
  if (plan && !plan.feasible)
    return (
      <div className={classes.warning} role="status">
        It cannot run {EXECUTION_WORDS[wanted]}:
        <ul>
          {plan.conflicts.map((conflict) => (
            <li key={`${conflict.constraint}${conflict.where}${conflict.unit}`}>{constraintText(conflict)}.</li>
          ))}
          {plan.problems
            .filter(({ severity }) => severity === 'error')
            .map(({ pointer, message }) => (
              <li key={`${pointer}${message}`}>{message}</li>
            ))}
        </ul>
      </div>
    );
  const forms = row.execution ? row.forms : (plan?.parallel ?? []).filter(({ chain_id }) => chain_id === row.id);
  if (forms.length === 0)
    return row.execution || plan ? (
      <p className={classes.note} role="status">
        {nfCount(row.definition) < 2
          ? 'It has fewer than two NFs: there is nothing to run in parallel.'
          : 'No two of its NFs stand in line: there is nothing to run in parallel.'}
      </p>
    ) : null;
  const reasons = [...new Set(forms.map(whySequential))];
  if (reasons.includes(null)) return null;
  return (
    <div className={classes.note} role="status">
      Nothing of it would be quicker in parallel.{' '}
      {reasons.map((reason) => (
        <p key={reason}>{reason}</p>
      ))}
    </div>
  );
}
