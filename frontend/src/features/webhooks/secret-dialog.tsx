import { Button, Code, CopyButton, Group, Modal, Stack, Text } from '@mantine/core';
import { useFocusReturn } from '../../shared/ui/focus-return.js';
import classes from './webhooks.module.css';

interface SecretDialogProps {
  readonly secret: string;
  readonly onClose: () => void;
}

/** Shows the secret of a webhook, which the server does not show again. */
export function SecretDialog({ secret, onClose }: SecretDialogProps) {
  useFocusReturn();
  return (
    <Modal opened onClose={onClose} size={560} centered title="Secret of the webhook">
      <Stack gap="sm">
        <Text size="sm">
          Messages are signed with it as Standard Webhooks describes. Give it to the receiver; it is not shown again.
        </Text>
        <Code className={classes.secret}>{secret}</Code>
        <Group gap="xs" justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
          <CopyButton value={secret}>
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
