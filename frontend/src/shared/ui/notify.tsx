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

/** What failed, in the server's words; stays until it is closed. */
export function notifyError(title: string, error: unknown): void {
  const detail = error instanceof ApiError ? error.message : String((error as Error)?.message ?? error);
  notifications.show({
    title,
    color: 'red',
    autoClose: false,
    role: 'alert',
    message: (
      <>
        {detail}
        <FieldErrors error={error} />
      </>
    ),
  });
}
