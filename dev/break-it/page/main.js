// The entry of the page that breaks the stack of `npm start`.
import { render } from 'preact'
import { html } from '../../../console/html.js'
import { Break } from './break.js'

const place = document.getElementById('break-it')
if (place !== null) render(html`<main><${Break} /></main>`, place)
