import { Button, Skeleton } from '@mantine/core';
import { IconAlertTriangle, IconPlugConnectedX } from '@tabler/icons-react';
import type { ComponentType, ReactNode } from 'react';
import { ApiError } from '../api/client.js';
import classes from './states.module.css';

interface EmptyStateProps {
  readonly icon?: ComponentType<{ size?: number; stroke?: number }>;
  readonly title: string;
  /** What would be here and how to get it. */
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}

export function EmptyState({ icon: Icon, title, children, action }: EmptyStateProps) {
  return (
    <div className={classes.state}>
      {Icon && <Icon size={24} stroke={1.5} />}
      <p className={classes.title}>{title}</p>
      {children && <div className={classes.text}>{children}</div>}
      {action && <div className={classes.action}>{action}</div>}
    </div>
  );
}

interface ErrorStateProps {
  readonly error: unknown;
  readonly retry?: () => void;
  readonly title?: string;
}

/** The server's error message, with the invalid fields and the request id. */
export function ErrorState({ error, retry, title }: ErrorStateProps) {
  const api = error instanceof ApiError ? error : null;
  const Icon = api?.unreachable ? IconPlugConnectedX : IconAlertTriangle;
  return (
    <div className={classes.state} role="alert" data-kind="error">
      <Icon size={24} stroke={1.5} />
      <p className={classes.title}>{title ?? api?.problem.title ?? 'Something failed on this page'}</p>
      <div className={classes.text}>
        {api
          ? (api.problem.detail ?? `The server answered ${api.status}.`)
          : String((error as Error)?.message ?? error)}
        <FieldErrors error={error} />
        {api?.problem.request_id && (
          <p className="muted">
            Request <code>{api.problem.request_id}</code>
          </p>
        )}
      </div>
      {retry && (
        <div className={classes.action}>
          <Button variant="default" onClick={retry}>
            Try again
          </Button>
        </div>
      )}
    </div>
  );
}

/** The invalid fields; errors of the whole body, or equal to the message, are already shown, and so is that a plan is overtaken. */
export function FieldErrors({ error }: { readonly error: unknown }) {
  const fields =
    error instanceof ApiError
      ? error.errors.filter(
          ({ pointer, detail, code }) =>
            pointer !== '' && code !== 'stale-plan' && error.message !== `${pointer}: ${detail}`,
        )
      : [];
  if (fields.length === 0) return null;
  return (
    <ul className={classes.fields}>
      {fields.map(({ pointer, detail }) => (
        <li key={`${pointer}${detail}`}>
          <code>{pointer}</code> {detail}
        </li>
      ))}
    </ul>
  );
}

export function LoadingRows({ rows = 6 }: { readonly rows?: number }) {
  return (
    <div className={classes.loading} role="status" aria-label="Loading">
      {[...Array(rows).keys()].map((row) => (
        <Skeleton key={row} height={12} width={`${92 - ((row * 17) % 40)}%`} />
      ))}
    </div>
  );
}

export interface QueryLike {
  readonly data?: unknown;
  readonly isPending: boolean;
  readonly error: unknown;
  refetch(): unknown;
}

/** Loading and error states of a query; `children` once there is data, also while a newer answer is missing. */
export function QueryBoundary({ query, rows, children }: { query: QueryLike; rows?: number; children: ReactNode }) {
  if (query.data !== undefined) return <>{children}</>;
  if (query.error) return <ErrorState error={query.error} retry={() => void query.refetch()} />;
  return <LoadingRows rows={rows} />;
}
