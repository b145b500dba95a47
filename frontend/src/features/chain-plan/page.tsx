import { Button } from '@mantine/core';
import { IconArrowLeft, IconRefresh } from '@tabler/icons-react';
import { Link, useNavigate } from 'react-router';
import { chainPath } from '../../shared/api/chains.js';
import { ConflictNotice } from '../../shared/chain-draft/conflict-notice.js';
import { useEditor, useEditorContext } from '../../shared/chain-draft/context.js';
import { useDocumentTitle } from '../../shared/page/page-header.js';
import { useCommands } from '../../shared/ui/commands.js';
import { ErrorState, LoadingRows } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { usePlanAddress } from './address.js';
import { Crumbs } from './crumbs.js';
import { DeployPlan } from './deploy-plan.js';
import { OptionBar } from './option-bar.js';
import classes from './plan.module.css';
import { usePlanPreview, useSavedDraft, useStaleness } from './plan-query.js';
import { PlanView } from './plan-view.js';

/** What a deployment of the draft would do, and why: the object that would be applied. */
export function Component() {
  const { chain } = useEditorContext();
  const title = useEditor((state) => state.definition.title);
  const address = usePlanAddress();
  const navigate = useNavigate();
  const { draft, revision, failed, again } = useSavedDraft();
  const plan = usePlanPreview(draft, address);
  // After a change of options the previous plan stays visible until the new one arrives, but cannot be deployed.
  const ready = plan.isPlaceholderData ? undefined : plan.data;
  const stale = useStaleness(ready, revision);
  const back = chainPath(chain.id);
  useDocumentTitle(`Plan of ${title}`);
  useCommands([
    { id: 'plan.again', title: 'Plan again', group: 'Plan', keys: 'r', run: again },
    { id: 'plan.editor', title: 'Back to the editor', group: 'Plan', keys: 'e', run: () => void navigate(back) },
  ]);
  return (
    <div className={classes.page}>
      <header className={classes.header}>
        <div className={classes.title}>
          <Crumbs title={title} back={back} />
          <span role="status">
            {ready ? (
              <StatusBadge
                lasting
                state={ready.feasible ? 'ok' : 'failed'}
                label={ready.feasible ? 'feasible' : 'not feasible'}
              />
            ) : (
              !plan.error && !failed && <StatusBadge state="PROCESSING" label="planning" />
            )}
          </span>
        </div>
        <div className={classes.tools}>
          <Button component={Link} to={back} variant="default" leftSection={<IconArrowLeft size={14} aria-hidden />}>
            Editor
          </Button>
          <DeployPlan plan={ready} again={again} />
        </div>
      </header>
      <ConflictNotice />
      <OptionBar chainId={chain.id} plan={plan.data} address={address} />
      {stale && (
        <div className={classes.notice} role="status">
          <span>
            {stale}
            {ready?.feasible && ' This plan may be refused when it is deployed.'}
          </span>
          <Button variant="default" leftSection={<IconRefresh size={14} aria-hidden />} onClick={again}>
            Plan again
          </Button>
        </div>
      )}
      <div className={classes.content} aria-busy={plan.isPlaceholderData || undefined}>
        {failed ? (
          <ErrorState
            error={new Error('Your changes are not saved yet; only a saved draft can be planned.')}
            title="No plan"
            retry={again}
          />
        ) : plan.error ? (
          <ErrorState error={plan.error} title="No plan" retry={() => void plan.refetch()} />
        ) : plan.data && draft ? (
          <PlanView plan={plan.data} draft={draft} address={address} />
        ) : (
          <LoadingRows rows={10} />
        )}
      </div>
    </div>
  );
}
