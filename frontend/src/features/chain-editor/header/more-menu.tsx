import { ActionIcon, Menu } from '@mantine/core';
import { IconDots, IconDownload, IconHistory, IconPlayerStop, IconUpload } from '@tabler/icons-react';
import { useRef, useState } from 'react';
import { fromYaml, toYaml } from '../../../editor-model/chain-yaml.js';
import { withPositions } from '../../../editor-model/edit.js';
import { useMay } from '../../../shared/api/session.js';
import { useChainActions } from '../../../shared/chain/use-chain-actions.js';
import { useEditorContext } from '../../../shared/chain-draft/context.js';
import { download } from '../../../shared/files/csv.js';
import { ConfirmDialog, type Question } from '../../../shared/ui/confirm-dialog.js';
import { refuse } from '../actions/use-editor-actions.js';
import type { DockTab } from '../dock/dock.js';

export function MoreMenu({ showTab }: { readonly showTab: (tab: DockTab) => void }) {
  const { store, chain, readOnly } = useEditorContext();
  const mayOperate = useMay('operator');
  const actions = useChainActions();
  const [question, setQuestion] = useState<Question | null>(null);
  const file = useRef<HTMLInputElement>(null);
  const active = chain.deployment_state !== 'none';

  const save = () => {
    const { definition } = store.getState();
    download(`${definition.name}.yaml`, toYaml(definition), 'application/yaml');
  };
  const load = async (chosen: File | undefined) => {
    if (!chosen) return;
    const result = fromYaml(await chosen.text());
    if (!result.ok) {
      const [first] = result.problems;
      refuse(`${chosen.name}, line ${first?.line}: ${first?.message}`);
      return;
    }
    // The chain keeps its own name, because names are unique.
    store.apply((before) => withPositions({ ...result.definition, name: before.name }));
  };
  return (
    <>
      <Menu position="bottom-end" width={220}>
        <Menu.Target>
          <ActionIcon aria-label="More" size={28}>
            <IconDots size={16} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconHistory size={14} />} onClick={() => showTab('versions')}>
            Versions
          </Menu.Item>
          <Menu.Item leftSection={<IconDownload size={14} />} onClick={save}>
            Export as YAML
          </Menu.Item>
          <Menu.Item leftSection={<IconUpload size={14} />} disabled={readOnly} onClick={() => file.current?.click()}>
            Import YAML or JSON
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item
            color="red"
            leftSection={<IconPlayerStop size={14} />}
            disabled={!active || !mayOperate}
            onClick={() =>
              setQuestion({
                title: `Take ${chain.draft.title} down?`,
                message: 'Its NFs stop, and the traffic of its class bypasses them.',
                confirm: 'Undeploy',
                run: () => void actions.undeploy(chain.id),
              })
            }
          >
            Undeploy
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <input
        ref={file}
        type="file"
        accept=".yaml,.yml,.json"
        hidden
        aria-label="Chain file"
        onChange={(event) => {
          void load(event.currentTarget.files?.[0]);
          event.currentTarget.value = '';
        }}
      />
      <ConfirmDialog question={question} onClose={() => setQuestion(null)} />
    </>
  );
}
