import { Button } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { freshName } from '../../editor-model/identifiers.js';
import { chainPath } from '../api/chains.js';
import { useChains } from '../api/queries.js';
import { useMay } from '../api/session.js';
import { useChainActions } from '../chain/use-chain-actions.js';
import classes from './conflict-notice.module.css';
import { useEditorContext } from './context.js';

/** The chain was deleted on the server; the editor's copy can be saved as a new chain. */
export function DeletedNotice() {
  const { store } = useEditorContext();
  const { data: others = [] } = useChains();
  const actions = useChainActions();
  const mayDesign = useMay('designer');
  const navigate = useNavigate();
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    const { definition } = store.getState();
    const name = freshName(definition.name, new Set(others.map(({ draft }) => draft.name)));
    const created = await actions.create({ ...definition, name });
    setBusy(false);
    if (created) void navigate(chainPath(created.id));
  };
  return (
    <div className={classes.notice} role="alert">
      <IconAlertTriangle size={16} aria-hidden />
      <span>This chain was deleted elsewhere. What you see is only in this window and cannot be deployed.</span>
      {mayDesign && (
        <Button loading={busy} onClick={() => void save()}>
          Save as a new chain
        </Button>
      )}
      <Button variant="default" onClick={() => void navigate('/chains')}>
        Go to the list
      </Button>
    </div>
  );
}
