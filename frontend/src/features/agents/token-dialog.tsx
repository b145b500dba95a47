import { Button, Code, CopyButton, Group, Modal, Stack, Text } from '@mantine/core';
import type { JoinToken } from '@orrery/contract';
import { dateTimeText } from '../../shared/format/time.js';
import { useFocusReturn } from '../../shared/ui/focus-return.js';
import classes from './agents.module.css';

interface TokenDialogProps {
  readonly token: JoinToken;
  readonly onClose: () => void;
}

/** Shows a join token, which the server does not show again. */
export function TokenDialog({ token: { node, token, expires_ms }, onClose }: TokenDialogProps) {
  useFocusReturn();
  return (
    <Modal opened onClose={onClose} size={560} centered title={`Join token for ${node}`}>
      <Stack gap="sm">
        <Text size="sm">
          It admits one agent, once, until {dateTimeText(expires_ms)}, and is not shown again. Give it to the agent as{' '}
          <code>ORRERY_JOIN_TOKEN</code>.
        </Text>
        <Code className={classes.token}>{token}</Code>
        <Group gap="xs" justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
          <CopyButton value={token}>
            {({ copied, copy }) => (
              <Button data-autofocus onClick={copy}>
                {copied ? 'Copied' : 'Copy'}
              </Button>
            )}
          </CopyButton>
        </Group>
      </Stack>
    </Modal>
  );
}
