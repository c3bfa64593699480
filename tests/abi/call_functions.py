# SPDX-License-Identifier: Apache-2.0
#
# Calls the functions of one front end as the rows of every_function.tsv say, each with objects of
# its own, and prints what they answer. A process of its own, started by test_every_function.py.
#
# Arguments are words, separated by blanks:
#   5 0x10         a number                      null         a null pointer
#   out            4 KiB of zeros                "text"       a string, @file a path of this test
#   stream, mem …  an object (class Objects)     fn           a function that does nothing
#   dev            device 0                      e5           value 5 of an enum
#   s64            a size                        f0           flags
#   &{8:p:mem,16:q:64}  a pointer to 4 KiB of zeros but for a pointer at 8 and a 64-bit number at 16
#                       (i: 32 bits, h: 16 bits, f: float)
#   @dim3(1,2,3)   a struct by value (dim3, extent, loc, pitched, zeros)
# Some are then replaced by something wrong, one at a time; a `?` behind the word says that NULL is
# allowed, a `~` that only NULL is wrong (any address may be the application's own memory), a `=` that
# the word is not replaced:
#   n  NULL for a pointer or handle       b  an address or handle that is none
#   d  device 99                          e  0x7777 for an enum
#   h  2^62 for a size                    f  0x40000000 for flags

import ctypes
import os
import re
import struct
import sys
import tempfile

HUGE = 1 << 62
BAD = 0x12340

PTX = b'''.version 7.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 number = 1;
.visible .global .attribute(.managed) .align 4 .u32 shared = 2;
.visible .entry k(.param .u64 p) { ret; }
'''
REFERENCES = b'''.visible .global .texref texture;
.visible .global .surfref surface;
'''


class Extent(ctypes.Structure):
    _fields_ = [(n, ctypes.c_size_t) for n in ('width', 'height', 'depth')]


class Dim3(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint) for n in 'xyz']


class Location(ctypes.Structure):
    _fields_ = [('type', ctypes.c_int), ('id', ctypes.c_int)]


class Pitched(ctypes.Structure):
    _fields_ = [('ptr', ctypes.c_void_p)] + [(n, ctypes.c_size_t) for n in ('pitch', 'xsize', 'ysize')]


class Handle64(ctypes.Structure):  # cudaIpcMemHandle_t, cudaIpcEventHandle_t
    _fields_ = [('bytes', ctypes.c_ubyte * 64)]


class EglFrame(ctypes.Structure):
    _fields_ = [('bytes', ctypes.c_ubyte * 276)]


def zeros(size=4096):
    return (ctypes.c_ubyte * size)()


class Objects:
    """What a call works on, made when a word asks for it. cudaDeviceReset ends all of them."""

    def __init__(self, lib, major):
        self.lib, self.major, self.made, self.keep = lib, major, {}, []
        self.register()

    def register(self):
        """A kernel and a variable, as nvcc's host code registers them."""
        text = PTX + (REFERENCES if self.major == 11 else b'')
        text += b'\0' * (8 - len(text) % 8)
        entry = struct.pack('<HHIQIIHHIIIQQQIIQ', 1, 0x0101, 80, len(text), 0, 0x40, 0, 7, 80, 0, 0,
                            0x11, 0, 0, 0, 0, 0)
        image = struct.pack('<IHHQ', 0xBA55ED50, 1, 16, len(entry) + len(text)) + entry + text
        self.image = ctypes.create_string_buffer(image, len(image))
        self.wrapper = zeros(24)
        struct.pack_into('<IIQQ', self.wrapper, 0, 0x466243B1, 1, ctypes.addressof(self.image), 0)
        register = self.lib['__cudaRegisterFatBinary']
        register.restype = ctypes.c_void_p
        handle = ctypes.c_void_p(register(self.wrapper))
        self.stub, self.shadow, self.name = zeros(16), zeros(16), ctypes.c_char_p(b'k')
        self.lib['__cudaRegisterFunction'](handle, self.stub, self.name, self.name, -1, None, None,
                                           None, None, None)
        variable = ctypes.c_char_p(b'number')
        self.lib['__cudaRegisterVar'](handle, self.shadow, variable, variable, 0, ctypes.c_size_t(4),
                                      0, 0)
        if self.major == 11:  # legacy references
            self.texture, self.surface = zeros(256), zeros(64)
            struct.pack_into('<iiiiiiiiii', self.texture, 0, 0, 0, 1, 1, 1, 32, 0, 0, 0, 2)
            texture, surface = ctypes.c_char_p(b'texture'), ctypes.c_char_p(b'surface')
            self.lib['__cudaRegisterTexture'](handle, self.texture, texture, texture, 2, 0, 0)
            self.lib['__cudaRegisterSurface'](handle, self.surface, surface, surface, 2, 0)
        self.lib['__cudaRegisterFatBinaryEnd'](handle)

    def check(self, function, *args):
        code = self.lib[function](*args)
        if code:
            raise RuntimeError(f'{function} answered {code} while an object was made')

    def pointer(self, function, *args):
        """What a function writes to its first argument."""
        place = ctypes.c_void_p()
        self.check(function, ctypes.byref(place), *args)
        return place

    def get(self, word):
        if word not in self.made:
            self.made[word] = getattr(self, 'make_' + word)()
        return self.made[word]

    def make_stream(self):
        return self.pointer('cudaStreamCreate')

    def make_captured(self):
        stream = self.pointer('cudaStreamCreate')
        self.check('cudaStreamBeginCapture', stream, 2)
        return stream

    def make_event(self):
        event = self.pointer('cudaEventCreate')
        self.check('cudaEventRecord', event, None)
        self.check('cudaEventSynchronize', event)
        return event

    def make_mem(self):
        return self.pointer('cudaMalloc', ctypes.c_size_t(1 << 16))

    make_mem2 = make_mem

    def make_asyncmem(self):
        return self.pointer('cudaMallocAsync', ctypes.c_size_t(4096), self.get('stream'))

    def make_host(self):
        return ctypes.cast(zeros(1 << 16), ctypes.c_void_p)

    def make_pinned(self):
        return self.pointer('cudaMallocHost', ctypes.c_size_t(4096))

    def make_managed(self):
        return self.pointer('cudaMallocManaged', ctypes.c_size_t(1 << 16), 1)

    def channel(self):
        desc = zeros(20)
        struct.pack_into('<iiiii', desc, 0, 32, 0, 0, 0, 2)  # one float
        return desc

    def make_array(self):
        return self.pointer('cudaMallocArray', self.channel(), ctypes.c_size_t(16),
                            ctypes.c_size_t(16), 2)  # for surfaces, too

    def make_mipmap(self):
        return self.pointer('cudaMallocMipmappedArray', self.channel(), Extent(16, 16, 0), 2, 0)

    def resource(self):
        desc = zeros(256)
        struct.pack_into('<iiQ', desc, 0, 0, 0, self.get('array').value)
        return desc

    def make_tex(self):
        return ctypes.c_ulonglong(self.pointer('cudaCreateTextureObject', self.resource(),
                                               zeros(256), None).value)

    def make_surf(self):
        return ctypes.c_ulonglong(self.pointer('cudaCreateSurfaceObject', self.resource()).value)

    def make_pool(self):
        props = zeros(128)
        struct.pack_into('<iiii', props, 0, 1, 1, 1, 0)  # pinned, file descriptor, device 0
        return self.pointer('cudaMemPoolCreate', props)

    def make_graph(self):
        return self.pointer('cudaGraphCreate', 0)

    make_graph2 = make_graph

    def node_of(self, function, *args):
        return self.pointer(function, self.get('graph'), None, ctypes.c_size_t(0), *args)

    def make_node(self):
        return self.node_of('cudaGraphAddEmptyNode')

    def make_knode(self):
        params = zeros(128)
        self.values = zeros(8)
        self.pointers = (ctypes.c_void_p * 1)(ctypes.addressof(self.values))
        struct.pack_into('<QIIIIIIIxxxxQ', params, 0, ctypes.addressof(self.stub), 1, 1, 1, 1, 1, 1, 0,
                         ctypes.addressof(self.pointers))
        return self.node_of('cudaGraphAddKernelNode', params)

    def make_mnode(self):
        return self.node_of('cudaGraphAddMemcpyNode1D', self.get('mem'), self.get('mem2'),
                            ctypes.c_size_t(64), 3)

    def make_snode(self):
        params = zeros(128)
        struct.pack_into('<QQIIQQ', params, 0, self.get('mem').value, 64, 0, 1, 64, 1)
        return self.node_of('cudaGraphAddMemsetNode', params)

    def make_hnode(self):
        params = zeros(64)
        struct.pack_into('<QQ', params, 0, ctypes.cast(self.get('fn'), ctypes.c_void_p).value, 0)
        return self.node_of('cudaGraphAddHostNode', params)

    def make_cnode(self):
        return self.node_of('cudaGraphAddChildGraphNode', self.get('graph2'))

    def make_enode(self):
        return self.node_of('cudaGraphAddEventRecordNode', self.get('event'))

    def make_wnode(self):
        return self.node_of('cudaGraphAddEventWaitNode', self.get('event'))

    def make_anode(self):
        self.alloc = zeros(256)
        struct.pack_into('<iiii', self.alloc, 0, 1, 0, 1, 0)
        struct.pack_into('<Q', self.alloc, 104, 4096)
        return self.node_of('cudaGraphAddMemAllocNode', self.alloc)

    def make_allocptr(self):
        self.get('anode')
        return ctypes.c_void_p(struct.unpack_from('<Q', self.alloc, 112)[0])

    def make_fnode(self):
        node, ptr = self.get('anode'), self.get('allocptr')
        before = (ctypes.c_void_p * 1)(node.value)
        return self.pointer('cudaGraphAddMemFreeNode', self.get('graph'), before, ctypes.c_size_t(1),
                            ptr)

    def make_exec(self):
        self.get('graph')
        return self.pointer('cudaGraphInstantiateWithFlags', self.get('graph'),
                            ctypes.c_ulonglong(0))

    def make_uobj(self):
        return self.pointer('cudaUserObjectCreate', None, self.get('fn'), 1, 1)

    def make_kernel(self):
        return ctypes.cast(self.stub, ctypes.c_void_p)

    def make_symbol(self):
        return ctypes.cast(self.shadow, ctypes.c_void_p)

    def make_khandle(self):
        return self.pointer('cudaGetKernel', self.stub)

    def make_library(self):
        self.code = ctypes.create_string_buffer(PTX)
        return self.pointer('cudaLibraryLoadData', self.code, None, None, 0, None, None, 0)

    def make_ctx(self):
        return self.pointer('cudaGreenCtxCreate', self.get('rdesc'), 0, 0)

    def make_rdesc(self):
        return self.pointer('cudaDevResourceGenerateDesc', self.get('sms'), 1)

    def make_sms(self):
        sms = zeros(144)
        self.check('cudaDeviceGetDevResource', 0, sms, 1)
        return sms

    def make_token(self):
        return self.callback('cudaLogsRegisterCallback', self.get('fn'), None)

    def make_async(self):
        return self.callback('cudaDeviceRegisterAsyncNotification', 0, self.get('fn'), None)

    def callback(self, function, *args):
        place = ctypes.c_void_p()
        self.check(function, *args, ctypes.byref(place))
        return place

    def memory_file(self):
        fd = os.memfd_create('external')
        os.ftruncate(fd, 1 << 16)
        return fd

    def make_extmem(self):
        desc = zeros(256)
        struct.pack_into('<iii', desc, 0, 1, 0, self.memory_file())
        struct.pack_into('<Q', desc, 24, 1 << 16)
        return self.pointer('cudaImportExternalMemory', desc)

    def make_extsem(self):
        desc = zeros(256)
        struct.pack_into('<iii', desc, 0, 9, 0, self.memory_file())  # timeline semaphore
        return self.pointer('cudaImportExternalSemaphore', desc)

    def make_semlist(self):
        return (ctypes.c_void_p * 1)(self.get('extsem').value)

    def semaphore_node(self, function):
        params = zeros(64)
        self.keep += [zeros(), self.get('semlist')]
        struct.pack_into('<QQI', params, 0, ctypes.addressof(self.keep[-1]),
                         ctypes.addressof(self.keep[-2]), 1)
        return self.node_of(function, params)

    def make_signode(self):
        return self.semaphore_node('cudaGraphAddExternalSemaphoresSignalNode')

    def make_waitnode(self):
        return self.semaphore_node('cudaGraphAddExternalSemaphoresWaitNode')

    def make_sigexec(self):
        return self.exec_of('signode')

    def make_waitexec(self):
        return self.exec_of('waitnode')

    def make_registered(self):
        self.check('cudaHostRegister', self.get('host'), ctypes.c_size_t(4096), 0)
        return self.get('host')

    def make_poolmem(self):
        ptr = self.pointer('cudaMallocFromPoolAsync', ctypes.c_size_t(4096), self.get('pool'), None)
        self.check('cudaDeviceSynchronize')
        return ptr

    def make_poolfd(self):
        fd = ctypes.c_int(-1)
        self.check('cudaMemPoolExportToShareableHandle', ctypes.byref(fd), self.get('pool'), 1, 0)
        return ctypes.c_size_t(fd.value)

    def make_importedpool(self):
        return self.pointer('cudaMemPoolImportFromShareableHandle', self.get('poolfd'), 1, 0)

    def make_exportdata(self):
        data = zeros(64)
        self.check('cudaMemPoolExportPointer', data, self.get('poolmem'))
        return data

    def make_peer(self):
        self.check('cudaDeviceEnablePeerAccess', 1, 0)
        return ctypes.c_int(1)

    def make_ipcevent(self):
        return self.pointer('cudaEventCreateWithFlags', 6)  # interprocess, no timing

    def exec_of(self, node):
        self.get(node)
        return self.make_exec()

    def make_kexec(self):
        return self.exec_of('knode')

    def make_mexec(self):
        return self.exec_of('mnode')

    def make_sexec(self):
        return self.exec_of('snode')

    def make_hexec(self):
        return self.exec_of('hnode')

    def make_cexec(self):
        return self.exec_of('cnode')

    def make_eexec(self):
        return self.exec_of('enode')

    def make_wexec(self):
        return self.exec_of('wnode')

    def make_clone(self):
        self.get('node')
        return self.pointer('cudaGraphClone', self.get('graph'))

    def make_graphuobj(self):
        self.check('cudaGraphRetainUserObject', self.get('graph'), self.get('uobj'), 1, 0)
        return self.get('graph')

    def make_edgegraph(self):
        first, second = ((ctypes.c_void_p * 1)(self.get(n).value) for n in ('node', 'knode'))
        count = ctypes.c_size_t(1)
        edges = (None, count) if self.major == 13 else (count,)
        self.check('cudaGraphAddDependencies', self.get('graph'), first, second, *edges)
        return self.get('graph')

    def make_texref(self):
        return ctypes.cast(self.texture, ctypes.c_void_p)

    def make_surfref(self):
        return ctypes.cast(self.surface, ctypes.c_void_p)

    # Lives as long as the process: it may stay registered.
    nothing = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
                               ctypes.c_size_t)(lambda a, b, c, d: None)

    def make_fn(self):
        return self.nothing


class Caller:
    def __init__(self, path, major):
        self.lib, self.major = ctypes.CDLL(path), major
        self.objects = Objects(self.lib, major)
        self.folder = tempfile.mkdtemp()

    def number(self, text):
        return ctypes.c_size_t(int(text, 0) & (2**64 - 1))

    def literal(self, text):
        """&{…}: a buffer with some fields set."""
        buffer = zeros()
        for field in filter(None, text[2:text.rindex('}')].split(',')):
            offset, kind, value = field.split(':', 2)
            if kind == 'p':
                value = self.value(value)
                value = ctypes.cast(value, ctypes.c_void_p).value if not isinstance(
                    value, (ctypes.c_size_t, ctypes.c_void_p, ctypes.c_ulonglong)) else value.value
                struct.pack_into('<Q', buffer, int(offset), value or 0)
            elif kind == 'f':
                struct.pack_into('<f', buffer, int(offset), float(value))
            else:
                value = self.objects.memory_file() if value == '@fd' else int(value, 0)
                struct.pack_into({'i': '<i', 'q': '<q', 'h': '<h'}[kind], buffer, int(offset), value)
        self.objects.keep.append(buffer)
        return buffer

    def by_value(self, word):
        name, args = re.fullmatch(r'@(\w+)\((.*)\)', word).groups()
        args = args.split(',') if args else []
        if name == 'pitched':
            return Pitched(self.value(args[0]).value, *map(int, args[1:]))
        if name == 'zeros':
            return {'64': Handle64, '276': EglFrame}[args[0]]()
        return {'dim3': Dim3, 'extent': Extent, 'loc': Location}[name](*map(int, args))

    def value(self, word):
        word = word.rstrip('?=~')
        if word == 'null':
            return ctypes.c_void_p(0)
        if word == 'bad':
            return ctypes.c_size_t(BAD)
        if word == 'dev':
            return ctypes.c_int(0)
        if word in ('out', 'kargs'):
            buffer = zeros()
            if word == 'kargs':  # one argument of eight bytes
                struct.pack_into('<Q', buffer, 0, ctypes.addressof(buffer) + 64)
            self.objects.keep.append(buffer)
            return buffer
        if word == '@file':
            return ctypes.c_char_p(os.path.join(self.folder, 'file').encode())
        if word == '@code':
            name = os.path.join(self.folder, 'code.ptx')
            with open(name, 'wb') as f:
                f.write(PTX)
            return ctypes.c_char_p(name.encode())
        if word == '@ptx':
            return ctypes.create_string_buffer(PTX)
        if word[0] == '"':
            return ctypes.c_char_p(word[1:-1].encode())
        if word[0] == '&':
            return self.literal(word)
        if word[0] == '@':
            return self.by_value(word)
        if re.fullmatch(r'[esf]?-?(0x)?[0-9a-fA-F]+', word) and not hasattr(self.objects,
                                                                            'make_' + word):
            return self.number(word.lstrip('esf') if word[0] in 'esf' else word)
        return self.objects.get(word)

    @staticmethod
    def wrongs(word):
        """(letter, wrong value) of an argument."""
        plain = word.rstrip('?=~')
        if word.endswith('='):
            return
        null_allowed = word.endswith('?')
        if plain in ('dev', 'peer'):
            yield 'd', ctypes.c_int(99)
        elif re.fullmatch(r'e-?\d+', plain):
            yield 'e', ctypes.c_size_t(0x7777)
        elif re.fullmatch(r's\d+', plain):
            yield 'h', ctypes.c_size_t(HUGE)
        elif re.fullmatch(r'f(0x)?[0-9a-f]+', plain):
            yield 'f', ctypes.c_size_t(0x40000000)
        elif plain[0] in '"&' or plain in ('out', 'kargs', 'fn', 'sms', 'exportdata', '@file', '@code', '@ptx'):
            if not null_allowed:
                yield 'n', ctypes.c_void_p(0)
        elif hasattr(Objects, 'make_' + plain):
            if not null_allowed and plain != 'stream':
                yield 'n', ctypes.c_void_p(0)
            if not word.endswith('~'):
                yield 'b', ctypes.c_size_t(BAD)

    def call(self, name, words, place=None, wrong=None):
        self.objects.made.clear()
        self.objects.keep.clear()
        args = [self.value(w) for w in words]
        if place is not None:
            args[place] = wrong
        self.lib.cudaGetLastError()
        code = self.lib[name](*args)
        self.lib.cudaGetLastError()
        return code

    def tidy(self, name):
        """The next call starts with a working device 0 and without the objects of this one."""
        self.lib.cudaSetDevice(0)
        for word in ('stream', 'captured'):
            if word in self.objects.made:
                self.lib.cudaStreamEndCapture(self.objects.made[word], zeros(8))
        code = self.lib.cudaDeviceSynchronize()
        if code:
            raise RuntimeError(f'after {name} the device answers {code}')
        self.lib.cudaDeviceReset()
        self.lib.cudaGetLastError()

    def row(self, name, words):
        """The answer to a call with good arguments, then to one with each wrong one."""
        answers = [str(self.call(name, words))]
        self.tidy(name)
        for place, word in enumerate(words):
            for letter, wrong in self.wrongs(word):
                code = self.call(name, words, place, wrong)
                self.tidy(name)
                answers.append(f'{place + 1}{letter}={code}')
        return answers


def main():
    path, major = sys.argv[1], int(sys.argv[2])
    caller = Caller(path, major)
    for line in sys.stdin:
        name, *words = line.split()
        sys.stdout.write(f'{name}\t')
        sys.stdout.flush()  # so that a crash names its function
        try:
            print('\t'.join(caller.row(name, words)), flush=True)
        except RuntimeError as e:
            print(f'error: {e}', flush=True)
            caller.tidy(name)


if __name__ == '__main__':
    main()
