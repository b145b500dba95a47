import { ActionIcon, Menu } from '@mantine/core';
import { IconKeyboard, IconLogout, IconUser } from '@tabler/icons-react';
import { call } from '../shared/api/client.js';
import { sessionStore, signOut, useSession } from '../shared/api/session.js';
import { Keys } from '../shared/ui/keys.js';

/** A server that hangs keeps nobody signed in for longer. */
const TOLD_WITHIN_MS = 3000;

export async function leave() {
  const { session } = sessionStore.getState();
  const signal = AbortSignal.timeout(TOLD_WITHIN_MS);
  const told = call('deleteSession', {}, { signal }).then(
    () => true,
    () => false,
  );
  if (session) signOut(session.token, (await told) ? 'left' : 'left-untold');
}

export function UserMenu({ onHelp }: { readonly onHelp: () => void }) {
  const session = useSession();
  return (
    <Menu position="bottom-end" width={200} withinPortal={false}>
      <Menu.Target>
        <ActionIcon aria-label={`Signed in as ${session?.name ?? ''}`}>
          <IconUser size={16} stroke={1.6} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {session?.name} · {session?.role}
        </Menu.Label>
        <Menu.Item leftSection={<IconKeyboard size={14} />} rightSection={<Keys keys="?" />} onClick={onHelp}>
          Shortcuts
        </Menu.Item>
        <Menu.Item leftSection={<IconLogout size={14} />} onClick={() => void leave()}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
