import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const server = process.env.ORRERY_SERVER ?? 'http://127.0.0.1:8080';

export default defineConfig({
  plugins: [react()],
  build: { target: 'es2022', sourcemap: false, manifest: true },
  server: { host: '127.0.0.1', port: 5173, proxy: { '/api': { target: server, ws: true } } },
});
