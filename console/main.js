// The entry of the console: shows who is logged in.
// Packages are imported by their names; the server replaces them by paths (src/http/console/files.ts).
import { h, render } from 'preact'
import htm from 'htm'

const html = htm.bind(h)

const place = document.getElementById('console')
if (place !== null) render(html`<main><h1>Atomic Payments</h1></main>`, place)
