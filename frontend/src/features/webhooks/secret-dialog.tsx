import { Button, Checkbox, Code, CopyButton, Group, Modal, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useFocusReturn } from '../../shared/ui/focus-return.js';
import { Reason } from '../../shared/ui/reason.js';
import classes from './webhooks.module.css';

interface SecretDialogProps {
  readonly secret: string;
  readonly onClose: () => void;
}

/** Shows the secret of a webhook, which the server does not show again: it closes only once somebody says that it is kept. */
export function SecretDialog({ secret, onClose }: SecretDialogProps) {
  useFocusReturn();
  const [isKept, setKept] = useState(false);
  return (
    <Modal
      opened
      onClose={onClose}
      size={560}
      centered
      title="Secret of the webhook"
      withCloseButton={false}
      closeOnEscape={isKept}
      closeOnClickOutside={isKept}
    >
      <Stack gap="sm">
        <Text size="sm">
          Messages are signed with it as Standard Webhooks describes. Give it to the receiver; it is not shown again.
        </Text>
        <Code className={classes.secret}>{secret}</Code>
        <Checkbox
          size="xs"
          label="I have copied it"
          checked={isKept}
          onChange={(event) => setKept(event.currentTarget.checked)}
        />
        <Group gap="xs" justify="flex-end">
          <Reason of={isKept ? null : 'Say first that you have copied it: it is not shown again'}>
            <Button variant="default" disabled={!isKept} onClick={onClose}>
              Close
            </Button>
          </Reason>
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
