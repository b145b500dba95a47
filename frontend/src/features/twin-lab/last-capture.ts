import { createStore } from 'zustand';

/** The capture that was started last in this window: it goes on while its page is left. */
export const lastCapture = createStore<{ readonly id: string | null }>(() => ({ id: null }));
