import { Button, Tooltip } from '@mantine/core';
import { IconRocket } from '@tabler/icons-react';
import { useState } from 'react';
import { useMay } from '../../../shared/api/session.js';
import { useHalted } from '../../../shared/chain/halted.js';
import { useDeployChain } from '../../../shared/chain/use-deploy-chain.js';
import { useDerived, useEditorContext } from '../../../shared/chain-draft/context.js';
import { useSaver } from '../../../shared/chain-draft/saver-context.js';
import { ConfirmDialog, type Question } from '../../../shared/ui/confirm-dialog.js';
import { refuse } from '../actions/use-editor-actions.js';
import { useHindrance } from '../actions/use-hindrance.js';
import type { DockTab } from '../dock/dock.js';

/** Saves the draft and deploys it, or says why it cannot. */
export function DeployButton({ showTab }: { readonly showTab: (tab: DockTab) => void }) {
  const saver = useSaver();
  const { chain } = useEditorContext();
  const { problems, differences, deployed } = useDerived((derived) => derived);
  const mayOperate = useMay('operator');
  const hindrance = useHindrance();
  const [question, setQuestion] = useState<Question | null>(null);
  const deployChain = useDeployChain(setQuestion);
  const [busy, setBusy] = useState(false);
  const halted = useHalted(chain.id);
  const isChanging = chain.deployment_state === 'deploying' || chain.deployment_state === 'undeploying';
  const working = isChanging && halted === null;
  const unchanged = deployed !== null && differences.length === 0 && chain.deployment_state === 'running';
  const why = !mayOperate
    ? 'Deploying needs the role operator.'
    : (hindrance ??
      (problems.errors > 0
        ? `${problems.errors === 1 ? 'One error has' : `${problems.errors} errors have`} to be fixed first.`
        : unchanged
          ? 'No changes since the last deployment.'
          : null));
  const deploy = async () => {
    setBusy(true);
    if (await saver.flush()) await deployChain(chain.id);
    else refuse('The draft is not saved yet, so it cannot be deployed.');
    setBusy(false);
  };
  return (
    <>
      <Tooltip label={why} disabled={why === null}>
        <Button
          leftSection={<IconRocket size={14} aria-hidden />}
          loading={busy || working}
          aria-disabled={why !== null || undefined}
          data-disabled={why !== null || undefined}
          onClick={() => {
            if (why === null) void deploy();
            else if (problems.errors > 0) showTab('problems');
          }}
        >
          {!deployed || unchanged ? 'Deploy' : differences.length > 0 ? 'Deploy changes' : 'Deploy again'}
        </Button>
      </Tooltip>
      <ConfirmDialog question={question} onClose={() => setQuestion(null)} />
    </>
  );
}
