import { Text } from '@mantine/core';
import { useChainTitle } from '../api/chains.js';
import { PlanDialog } from '../chain/plan-dialog.js';
import { deployQuestion } from '../plan/deploy-question.js';
import { LeftOut } from './left-out.js';

interface DoWithoutDialogProps {
  readonly node: string;
  readonly onClose: () => void;
}

/** Plans what runs without a lost server, shows that, and deploys it on consent: what healing does, by hand. */
export default function DoWithoutDialog({ node, onClose }: DoWithoutDialogProps) {
  const titleOf = useChainTitle();
  return (
    <PlanDialog
      title={`Do without ${node}`}
      confirm="Do without it"
      request={{ without_servers: [node], when_short: 'leave-out' }}
      details={(plan) => (
        <>
          <ul>
            <LeftOut notKept={plan.not_kept ?? []} titleOf={titleOf} />
          </ul>
          <p role="status">{deployQuestion(plan, titleOf)?.message}</p>
        </>
      )}
      onClose={onClose}
    >
      <Text size="sm">
        What {node} ran runs elsewhere. Chains of the lowest priority are taken down where there is too little room.
      </Text>
    </PlanDialog>
  );
}
