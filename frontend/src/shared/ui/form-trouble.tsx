import { ApiError } from '../api/client.js';
import { FieldErrors } from './states.js';
import classes from './states.module.css';

/** The server's error for one field of the body, to be shown at the field. */
export function fieldErrorOf(error: unknown, pointer: string): string | undefined {
  return error instanceof ApiError ? error.errors.find((each) => each.pointer === pointer)?.detail : undefined;
}

/** What a form can do about a change by somebody else. */
const CHANGED =
  'Somebody else has changed this since you opened it. Close and open it again to see the change; ' +
  'what you entered here is not saved.';

interface FormTroubleProps {
  readonly error: unknown;
  /** Pointers of the fields that show their own error. */
  readonly shown: readonly string[];
}

/** Why a form was rejected, below its fields; nothing if the fields already show all errors. */
export function FormTrouble({ error, shown }: FormTroubleProps) {
  if (!error) return null;
  const fields = error instanceof ApiError ? error.errors : [];
  if (fields.length > 0 && fields.every(({ pointer }) => shown.includes(pointer))) return null;
  return (
    <div role="alert" className={classes.trouble}>
      {error instanceof ApiError && error.status === 412 ? CHANGED : String((error as Error)?.message ?? error)}
      <FieldErrors error={error} />
    </div>
  );
}
