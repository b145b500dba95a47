import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { ApiError } from '../api/client.js';
import { FieldErrors } from './states.js';

export function notifyDone(message: string): void {
  notifications.show({ message, color: 'teal' });
}

/** Work that is not lost but not done either; stays until it is closed, or withdrawn by its id. */
export function notifyKept(title: string, message: string, id?: string): void {
  notifications.show({
    ...(id === undefined ? {} : { id }),
    title,
    message,
    color: 'yellow',
    autoClose: false,
    role: 'alert',
  });
}

export function withdraw(id: string): void {
  notifications.hide(id);
}

/** What can be done about what failed. */
export interface Remedy {
  readonly label: string;
  readonly run: () => void;
}

/** What failed, in the server's words, and what can be done about it; stays until it is closed. */
export function notifyError(title: string, error: unknown, remedy?: Remedy): void {
  const detail = error instanceof ApiError ? error.message : String((error as Error)?.message ?? error);
  const id = crypto.randomUUID();
  notifications.show({
    id,
    title,
    color: 'red',
    autoClose: false,
    role: 'alert',
    message: (
      <>
        {detail}
        <FieldErrors error={error} />
        {remedy && (
          <div>
            <Button
              size="compact-xs"
              variant="default"
              mt={6}
              onClick={() => {
                withdraw(id);
                remedy.run();
              }}
            >
              {remedy.label}
            </Button>
          </div>
        )}
      </>
    ),
  });
}
