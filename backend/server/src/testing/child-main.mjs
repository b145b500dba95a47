// The built server with the steps at which tests kill it.
import './kill-preload.mjs';
import '../../dist/main.js';
