// GET /console: the one HTML page of the console. Its scripts find the view in the hash of the URL.
import type { OpenEndpoint } from '../endpoint.ts'
import { pagePolicy } from './files-get.ts'

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Atomic Payments console</title>
<link rel="icon" href="/console/app/icon.svg">
<link rel="stylesheet" href="/console/packages/uplot.css">
<link rel="stylesheet" href="/console/app/style.css">
<script type="module" src="/console/app/main.js"></script>
<body>
<div id="console"></div>
<noscript>The console needs JavaScript. The same requests are in <a href="/docs">the API
reference</a>.</noscript>
</html>
`

export const getConsole: OpenEndpoint = async () => ({
  status: 200,
  headers: { ...pagePolicy, 'content-type': 'text/html; charset=utf-8' },
  body: PAGE,
})
