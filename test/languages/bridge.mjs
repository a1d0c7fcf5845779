// JDBC knows no unix sockets: forwards a free TCP port of this machine to the server's socket, and
// prints the port.
//
//   node bridge.mjs SOCKET
import net from 'node:net';

const bridge = net.createServer((client) => {
    const server = net.connect(process.argv[2]);
    client.pipe(server).pipe(client);
    client.on('error', () => server.destroy());
    server.on('error', () => client.destroy());
});
bridge.listen(0, '127.0.0.1', () => console.log(bridge.address().port));
