import { Button, Modal } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import { useFocusReturn } from './focus-return.js';
import classes from './form-dialog.module.css';

interface FormDialogProps {
  readonly title: string;
  readonly size: number;
  readonly children: ReactNode;
  /** Error of the whole form; shown next to the buttons, which are always visible. */
  readonly trouble?: ReactNode;
  /** The action button, right of Cancel. */
  readonly action: ReactNode;
  readonly onSubmit: () => void;
  readonly onClose: () => void;
}

/** A dialog with a form: the content scrolls, the buttons stay visible. The focus returns to what opened it. */
export function FormDialog({ title, size, children, trouble, action, onSubmit, onClose }: FormDialogProps) {
  useFocusReturn();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <Modal opened onClose={onClose} size={size} centered title={title} classNames={{ content: classes.content }}>
      <form className={classes.form} onSubmit={submit} noValidate>
        {children}
        <div className={classes.foot}>
          {trouble}
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          {action}
        </div>
      </form>
    </Modal>
  );
}
