import { ActionIcon, Button, Menu } from '@mantine/core';
import type { Chain } from '@orrery/contract';
import { IconCopy, IconDots, IconPlayerPlay, IconPlayerStop, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { chainPath } from '../../shared/api/chains.js';
import { useChains } from '../../shared/api/queries.js';
import { useMay } from '../../shared/api/session.js';
import { useChainActions } from '../../shared/chain/use-chain-actions.js';
import { useDeployChain } from '../../shared/chain/use-deploy-chain.js';
import type { Question } from '../../shared/ui/confirm-dialog.js';
import classes from './chain-list.module.css';

interface RowActionsProps {
  readonly chain: Chain;
  readonly ask: (question: Question) => void;
}

export function RowActions({ chain, ask }: RowActionsProps) {
  const actions = useChainActions();
  const deployChain = useDeployChain(ask);
  const [busy, setBusy] = useState(false);
  const navigate = useNavigate();
  const { data: all } = useChains();
  const mayDesign = useMay('designer');
  const mayOperate = useMay('operator');
  const { draft } = chain;
  const active = chain.deployment_state !== 'none';

  const deploy = async () => {
    setBusy(true);
    await deployChain(chain.id);
    setBusy(false);
  };
  const duplicate = async () => {
    const { instantiate } = await import('../../editor-model/templates.js');
    const names = new Set((all ?? []).map((each) => each.draft.name));
    const copy = await actions.create(instantiate(draft, `${draft.title} copy`.slice(0, 80), names));
    if (copy) void navigate(chainPath(copy.id));
  };
  return (
    <span className={classes.actions}>
      <Button
        size="compact-xs"
        variant="default"
        aria-label={`${active ? 'Undeploy' : 'Deploy'} ${draft.title}`}
        leftSection={active ? <IconPlayerStop size={13} aria-hidden /> : <IconPlayerPlay size={13} aria-hidden />}
        disabled={!mayOperate}
        loading={busy}
        title={mayOperate ? undefined : `${active ? 'Undeploying' : 'Deploying'} needs the role operator.`}
        onClick={() =>
          active
            ? ask({
                title: `Take ${draft.title} down?`,
                message: 'Its NFs stop, and its traffic class passes without them.',
                confirm: 'Undeploy',
                run: () => void actions.undeploy(chain.id),
              })
            : void deploy()
        }
      >
        {active ? 'Undeploy' : 'Deploy'}
      </Button>
      <Menu position="bottom-end" width={180}>
        <Menu.Target>
          <ActionIcon
            aria-label={`More for ${draft.title}`}
            disabled={!mayDesign}
            title={mayDesign ? undefined : 'Changing chains needs the role designer.'}
          >
            <IconDots size={16} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconCopy size={14} />} onClick={() => void duplicate()}>
            Duplicate
          </Menu.Item>
          <Menu.Item
            leftSection={<IconTrash size={14} />}
            color="red"
            disabled={active}
            onClick={() =>
              ask({
                title: `Delete ${draft.title}?`,
                message: 'The draft and every published version are deleted. This cannot be undone.',
                confirm: 'Delete',
                run: () => void actions.remove(chain.id),
              })
            }
          >
            {active ? 'Delete (undeploy first)' : 'Delete'}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </span>
  );
}
